package report

import (
	"context"
	"encoding/json"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// watch comes before everything else in the page and counts what should not happen. probe comes last, uses the
// legend as a reader would, and leaves what it saw in the document.
const (
	watch = `<script>
window.troubles = [];
addEventListener("error", (e) => troubles.push("error: " + (e.message || e.target)), true);
addEventListener("unhandledrejection", (e) => troubles.push("rejection: " + e.reason));
addEventListener("securitypolicyviolation", (e) => troubles.push("request: " + e.blockedURI));
for (const level of ["error", "warn"]) { const was = console[level]; console[level] = (...all) => { troubles.push("console: " + all.join(" ")); was(...all); }; }
</script>`
	probe = `<script>
addEventListener("load", () => {
	const seen = { charts: [], troubles: window.troubles };
	for (const figure of document.querySelectorAll("figure.chart")) {
		const shown = () => [...figure.querySelectorAll(".plot svg")].filter((s) => getComputedStyle(s).display !== "none")
			.flatMap((s) => [...s.querySelectorAll("g.curve")]).filter((g) => getComputedStyle(g).display !== "none" && g.getBBox().width + g.getBBox().height > 0)
			.map((g) => Number(g.dataset.curve));
		const entry = figure.querySelector('.legend [data-curve="1"]'), all = figure.querySelector(".legend .all");
		const chart = { before: shown(), pressed: [] };
		const press = () => { entry.click(); chart.pressed.push(entry.getAttribute("aria-pressed")); return shown(); };
		chart.hidden = press();
		chart.again = press();
		press();
		all.click();
		chart.all = shown();
		seen.charts.push(chart);
	}
	seen.requests = performance.getEntriesByType("resource").map((r) => r.name);
	const out = document.createElement("pre");
	out.id = "seen";
	out.textContent = JSON.stringify(seen);
	document.body.append(out);
});
</script>`
)

// TestInABrowser opens the page in a headless Chromium. The curves are there; a click in the legend hides one
// curve and no other, and another click shows it again; nothing is loaded from elsewhere; and the console stays
// empty.
func TestInABrowser(t *testing.T) {
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	if chromium == "" {
		t.Skip("chromium is not installed")
	}
	page := string(written(t, "page", samplePage().WriteHTML))
	page = strings.Replace(page, "<head>", "<head>"+watch, 1)
	page = strings.Replace(page, "</body>", probe+"</body>", 1)
	dir := t.TempDir()
	write(t, dir, "page.html", []byte(page))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,900",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--virtual-time-budget=5000", "--dump-dom", "file://"+filepath.Join(dir, "page.html"))
	cmd.Env = append(os.Environ(), "HOME="+dir)
	dom, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", chromium, err)
	}
	m := regexp.MustCompile(`(?s)<pre id="seen">(.*?)</pre>`).FindSubmatch(dom)
	if m == nil {
		t.Fatalf("the page's last script did not run; the document has %d bytes", len(dom))
	}
	var seen struct {
		Charts []struct {
			Before, Hidden, Again, All []int
			Pressed                    []string
		}
		Troubles, Requests []string
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(string(m[1]))), &seen); err != nil {
		t.Fatal(err)
	}
	charts := samplePage().Sections[1].Charts
	if len(seen.Charts) != len(charts) {
		t.Fatalf("%d charts, want %d", len(seen.Charts), len(charts))
	}
	for k, c := range charts {
		x, _, _ := c.axes()
		var want, without []int
		for i, s := range c.Series {
			if runs := c.runs(s, x); len(runs) > 0 && (len(runs) > 1 || len(runs[0]) > 0) {
				want = append(want, i)
				if i != 1 {
					without = append(without, i)
				}
			}
		}
		got := seen.Charts[k]
		for _, state := range []struct {
			what      string
			got, want []int
		}{{"at first", got.Before, want}, {"one hidden", got.Hidden, without}, {"shown again", got.Again, want}, {"all shown", got.All, want}} {
			if !sameSet(state.got, state.want) {
				t.Errorf("%s, %s: curves %v, want %v", c.Title, state.what, state.got, state.want)
			}
		}
		if strings.Join(got.Pressed, " ") != "false true false" {
			t.Errorf("%s: the entry is pressed: %v", c.Title, got.Pressed)
		}
	}
	if len(seen.Troubles) > 0 || len(seen.Requests) > 0 {
		t.Errorf("troubles %q, requests %q", seen.Troubles, seen.Requests)
	}
}

// sameSet reports whether a, whatever its order and repetitions, has the members of b.
func sameSet(a, b []int) bool {
	in := map[int]bool{}
	for _, v := range a {
		in[v] = true
	}
	for _, v := range b {
		if !in[v] {
			return false
		}
		delete(in, v)
	}
	return len(in) == 0
}

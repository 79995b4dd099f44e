"use strict";
// Each chart: its legend hides and shows curves; the pointer, or the arrow keys, show values.
for (const figure of document.querySelectorAll("figure.chart")) {
	const data = JSON.parse(figure.querySelector("script").textContent);
	const plot = figure.querySelector(".plot");
	const tip = plot.querySelector(".tip");
	const entries = [...figure.querySelectorAll(".legend [data-curve]")];
	const all = figure.querySelector(".legend .all");
	const hidden = new Set();
	let here = null; // the curve and point whose values are shown

	const show = (curve, on) => {
		if (on) hidden.delete(curve); else hidden.add(curve);
		entries[curve].setAttribute("aria-pressed", String(on));
		for (const group of plot.querySelectorAll(`[data-curve="${curve}"]`)) group.classList.toggle("off", !on);
		all.hidden = hidden.size === 0;
		if (here !== null && hidden.has(here.curve)) point(null);
	};
	entries.forEach((entry, curve) => entry.addEventListener("click", () => show(curve, hidden.has(curve))));
	all.addEventListener("click", () => {
		entries.forEach((entry, curve) => show(curve, true));
		entries[0].focus();
	});

	// The picture on show, and the way from values to its units.
	const view = () => {
		const svg = [...plot.querySelectorAll("svg")].find((one) => getComputedStyle(one).display !== "none");
		const [left, top, width, height] = svg.dataset.frame.split(" ").map(Number);
		const along = (text) => {
			const [lo, hi, log] = text.split(" ").map(Number);
			const f = log ? Math.log10 : (v) => v / 2; // halves: the difference of numbers near the largest is finite
			return (v) => (f(v) - f(lo)) / (f(hi) - f(lo));
		};
		const x = along(svg.dataset.x), y = along(svg.dataset.y);
		return { svg, at: (p, q) => [left + width * x(p), top + height * (1 - y(q))] };
	};

	const written = (v) => String(Number(v.toPrecision(5))).replace("-", "\u2212");

	// point shows the values of one point, or of none.
	const point = (to) => {
		here = to;
		tip.hidden = to === null;
		for (const ring of plot.querySelectorAll(".here")) ring.setAttribute("visibility", "hidden");
		if (to === null) return;
		const curve = data.curves[to.curve], now = view();
		const [x, y] = now.at(curve.x[to.point], curve.y[to.point]);
		const ring = now.svg.querySelector(".here");
		ring.setAttribute("cx", x);
		ring.setAttribute("cy", y);
		ring.setAttribute("visibility", "visible");
		tip.textContent = `${curve.name}\n${data.y || "y"}: ${written(curve.y[to.point])}\n${data.x || "x"}: ${written(curve.x[to.point])}`;
		const scale = now.svg.clientWidth / now.svg.viewBox.baseVal.width;
		const room = plot.clientWidth - tip.offsetWidth;
		const right = x * scale + 14;
		tip.style.left = `${Math.max(0, Math.min(room, right > room ? x * scale - 14 - tip.offsetWidth : right))}px`;
		tip.style.top = `${Math.max(0, y * scale - tip.offsetHeight - 10)}px`;
	};

	// The point nearest to the pointer, if it is within 60 pixels.
	plot.addEventListener("pointermove", (event) => {
		const now = view(), box = now.svg.getBoundingClientRect();
		const scale = box.width / now.svg.viewBox.baseVal.width;
		let best = null, least = 60 / scale;
		data.curves.forEach((curve, k) => {
			if (hidden.has(k)) return;
			curve.x.forEach((value, i) => {
				const [x, y] = now.at(value, curve.y[i]);
				const away = Math.hypot(x - (event.clientX - box.left) / scale, y - (event.clientY - box.top) / scale);
				if (least > away) [best, least] = [{ curve: k, point: i }, away];
			});
		});
		point(best);
	});
	plot.addEventListener("pointerleave", () => point(null));
	plot.addEventListener("blur", () => point(null));

	plot.addEventListener("keydown", (event) => {
		const open = data.curves.flatMap((curve, k) => (hidden.has(k) || curve.x.length === 0 ? [] : [k]));
		const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
		if (event.key === "Escape") point(null);
		if (by === undefined || open.length === 0) return;
		event.preventDefault();
		if (here === null) return point({ curve: open[0], point: 0 });
		const curve = open[(open.indexOf(here.curve) + by[1] + open.length) % open.length];
		point({ curve, point: Math.max(0, Math.min(data.curves[curve].x.length - 1, here.point + by[0])) });
	});
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGenerated compares the files in the tree with what this program writes.
func TestGenerated(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(kernelDir, name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes; run go generate ./internal/kernel", name)
		}
	}
}

// TestAVX2Registers: functions for AVX2 use only the 16 vector registers that AVX2 has, and no mask register.
// The assembler also accepts the further registers of AVX-512 in the same instructions, but those run only on
// processors with AVX-512.
func TestAVX2Registers(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	beyond := regexp.MustCompile(`\b([XY](1[6-9]|2[0-9]|3[01])|Z[0-9]+|K[0-7])\b`)
	functions, wide := 0, 0
	for name, text := range files {
		function := ""
		for line := range strings.Lines(string(text)) {
			if _, after, ok := strings.Cut(line, "TEXT ·"); ok {
				if function, _, _ = strings.Cut(after, "("); strings.HasSuffix(function, "AVX2") {
					functions++
				}
			}
			switch {
			case !strings.HasPrefix(line, "\t") || !beyond.MatchString(line):
			case strings.HasSuffix(function, "AVX2"):
				t.Fatalf("%s, %s: %s", name, function, strings.TrimSpace(line))
			default:
				wide++
			}
		}
	}
	if functions == 0 || wide == 0 {
		t.Errorf("%d functions for AVX2, and %d lines with registers of AVX-512, want some of each", functions, wide)
	}
}

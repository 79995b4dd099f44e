package main

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"testing"

	"symnmf"
)

func BenchmarkZZOp(b *testing.B) {
	c := &config{data: "/work/shared/data"}
	s := &shelf{folder: c.data}
	c.solver, _ = symnmf.ParseSolver("rowblock", nil)
	r := 30
	if os.Getenv("ZR") != "" {
		r, _ = strconv.Atoi(os.Getenv("ZR"))
	}
	start := "zero"
	if os.Getenv("ZS") != "" {
		start = os.Getenv("ZS")
	}
	f := fromX
	if os.Getenv("ZF") != "" {
		f = form(os.Getenv("ZF"))
	}
	tk, err := c.newTask(s, os.Getenv("ZZ"), f, r, start)
	if err != nil || tk == nil {
		b.Fatal(err)
	}
	sw := 0
	if os.Getenv("ZW") != "" {
		sw, _ = strconv.Atoi(os.Getenv("ZW"))
	}
	th := 1
	if os.Getenv("ZT") != "" {
		th, _ = strconv.Atoi(os.Getenv("ZT"))
	}
	runtime.GOMAXPROCS(th)
	for b.Loop() {
		a, err := tk.data.operator(tk.form, th)
		if err != nil {
			b.Fatal(err)
		}
		if sw > 0 {
			symnmf.Factorize(context.Background(), a, tk.rank, symnmf.Options{Solver: tk.solver, Start: tk.start, Threads: th, Stop: symnmf.Stop{Sweeps: sw, KKT: -1}})
		}
	}
}

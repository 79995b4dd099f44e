// Package experiment compares methods: a [Plan] is a list of runs, [Run] makes those that are missing and appends each to a
// file as it ends, and [Draw] makes tables and curves from that file alone.
//
// # Plans
//
// A plan is text, a directive a line; # begins a comment. Directives before the first experiment hold for the plan:
//
//	plan NAME                    goes into the records
//	title TEXT
//	threads N                    of every run; 1 when left out, so that no method gains by how well it uses several
//
// Every other one belongs to the experiment before it:
//
//	experiment NAME              begins one: all its methods on all its sets, from the same starts
//	title TEXT
//	task fit|eigen               eigen: the time of RANK eigenpairs of XᵀX, written out and through X
//	data SET… [KEY=VALUE…]       sets, see below; repeatable
//	rank R…
//	time D                       limit of a run, as 60s; 0: none
//	sweeps N                     the same in sweeps; 0: none
//	seeds S…                     a run from each, as 0-9 or 0 3 7
//	repeats N                    times the same run is made, for its seconds
//	method NAME [KEY=VALUE…]     from the list of methods; method? leaves it out, and says so, where the build has none of that name
//	best E                       the least error that E(t) refers to, where it is known; else the least of all runs
//	reach E…                     the values of E(t) whose times are tabled, or errors in percent, as 31%
//	pictures WxH [columns]       keep the columns of H as pictures of so many pixels, stored by rows or by columns
//	tables errors=NAME iterations=NAME seconds=NAME
//	figure NAME
//
// A method line may have start=zero|random|…, seeds=, repeats=, time=, sweeps= of its own, set=KNOB=VALUE as often as there are
// knobs, and as=LABEL, its name in tables; that is otherwise NAME, NAME-0 from zero, NAME-rand from a random start. Runs with one
// seed begin at the same H₀, whatever the method.
//
// A SET is a folder of the data directory with X.npy, X.mtx.gz, X.mtx (points in columns; items=rows takes the rows) or A.mtx.gz,
// A.mtx (a graph); demo:NAME (of points the rows; items=columns takes the columns); or one of
//
//	synthetic:low-rank  n= r= instances=       B·Bᵀ, B uniform n×r; without r=, r is the rank of the run
//	synthetic:full-rank n= instances=          B+Bᵀ, B uniform n×n
//	synthetic:planted   n= groups= in= out= instances=
//	synthetic:text      m= n= words= instances=   counts of m documents and n terms; A = XᵀX
//
// of which every instance, a number that fixes it, is a matrix of its own, and tables and curves are means over them. For
// points, form=explicit writes A out, n×n.
//
// # Records
//
// The file records.jsonl has a line of JSON for the plan and one for each run that has ended, with its trace; see [Record]. Every line
// ends in a checksum and is on disk before the next run begins, so that a process killed at any moment loses the run it was at and
// nothing else: a last line that is not whole is dropped, and made again. A lock keeps a second writer away.
//
// # Protocol
//
// The clock is the solver's own: making the operator is not on it, nor is computing an error that only the trace needs; what a
// method computes before its first sweep is. A trace keeps the first 50 sweeps, then each that is at least 1.02 times the one kept
// before, and the last, so times read off it are late by at most 2 %; of tsvd, and of sweeps on a low rank in place of A, only those
// at which the method itself looks.
package experiment

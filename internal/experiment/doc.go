// Package experiment compares methods. A [Plan] lists runs, [Run] makes those that are missing and appends each
// to a file as it ends, and [Draw] makes tables and curves from that file alone.
//
// # Plans
//
// A plan is text with one directive per line; # begins a comment. Directives before the first experiment apply to
// the whole plan:
//
//	plan NAME                    goes into the records
//	title TEXT
//	threads N                    of every run; 1 by default, so that no method gains by how well it uses several
//
// Every other directive belongs to the experiment before it:
//
//	experiment NAME              begins one: all its methods on all its sets, from the same starts
//	title TEXT
//	task fit|eigen               eigen: time RANK eigenpairs of XᵀX, with the product written out and through X
//	data SET… [KEY=VALUE…]       sets, see below; repeatable
//	rank R…
//	time D                       time limit of a run, such as 60s; 0: none
//	sweeps N                     limit in sweeps; 0: none
//	seeds S…                     one run from each, such as 0-9 or 0 3 7
//	repeats N                    how often the same run is made, to measure its seconds
//	method NAME [KEY=VALUE…]     from the list of methods; method? leaves it out, with a warning, if the build lacks it
//	best E                       the least error, where it is known, for E(t); by default the least of all runs
//	reach E…                     the values of E(t) whose times are tabled, or errors in percent, such as 31%
//	pictures WxH [columns]       keep the columns of H as pictures of that many pixels, stored by rows or by columns
//	tables errors=NAME iterations=NAME seconds=NAME
//	figure NAME
//
// A method line may have its own start=zero|random|…, seeds=, repeats=, time= and sweeps=. It may set any number of
// knobs, each with set=KNOB=VALUE. Its label in tables is as=LABEL. The default label is NAME, NAME-0 for a start
// from zero, NAME-rand for a random start, and NAME-START for any other. Runs with the same seed begin at the same
// H₀, whatever the method.
//
// A SET is one of:
//
//   - a folder of the data directory with X.npy, X.mtx.gz or X.mtx (points, in columns unless items=rows), or with
//     A.mtx.gz or A.mtx (a graph);
//   - demo:NAME, a set inside the program (points are in rows unless items=columns);
//   - a synthetic set, one of the following.
//
// The synthetic sets are:
//
//	synthetic:low-rank  n= r= instances=          B·Bᵀ, B uniform n×r; by default r is the rank of the run
//	synthetic:full-rank n= instances=             B+Bᵀ, B uniform n×n
//	synthetic:planted   n= groups= in= out= instances=
//	synthetic:text      m= n= words= instances=   counts of m documents and n terms; A = XᵀX
//
// An instance is a number that fixes a synthetic matrix. Each instance is a matrix of its own, and tables and curves
// show means over them. For points, form=explicit writes out A, n×n. items= is for points only.
//
// # Records
//
// The file records.jsonl has a line of JSON for the plan, and one for each run that has ended, with its trace; see
// [Record]. Every line ends in a checksum and is on disk before the next run begins. A process killed at any moment
// therefore loses only the run in progress: an incomplete last line is dropped, and its run is made again. A lock
// keeps other writers away.
//
// # Protocol
//
// The clock is the solver's own. It includes what a method computes before its first sweep. It excludes making the
// operator, and computing errors that only the trace needs. A trace keeps the first 50 sweeps, then each that is at
// least 1.02 times the one kept before, and the last, so that times read from it are late by at most 2 %. For tsvd,
// and for sweeps on a low rank in place of A, it keeps only sweeps after which the method itself computes the error.
package experiment

# Times two programs in turn, five times each, on the files of make.py: python3 thin.py BEFORE AFTER. Medians: seconds of the solver's clock, of the process, and of processors.
import json, resource, statistics, subprocess, sys, time
before, after = sys.argv[1:3]
cases = [('graph.csv', ['-k', '20']), ('counts.csv', ['--items', 'rows', '-k', '15']), ('wide.mtx', ['--items', 'rows', '-k', '8']),
         ('wide.mtx', ['--items', 'rows', '-k', '20']), ('cells.mtx', ['--items', 'rows', '-k', '10'])]
print('%-11s %-4s %-7s %-7s %9s %9s %9s %7s %11s' % ('file', 'r', 'threads', 'program', 'seconds', 'process', 'cpu', 'sweeps', 'error, %'))
for name, opts in cases:
    for threads in ['1', '2']:
        seen = {before: [], after: []}
        for turn in range(5):
            for prog in (before, after):
                c0 = resource.getrusage(resource.RUSAGE_CHILDREN); t0 = time.time()
                out = subprocess.run([prog, 'fit', name, '--json', '-q', '--bound=no', '-t', threads] + opts, capture_output=True, text=True)
                wall = time.time() - t0; c1 = resource.getrusage(resource.RUSAGE_CHILDREN)
                r = json.loads(out.stdout)
                seen[prog].append((r["seconds"], wall, c1.ru_utime - c0.ru_utime + c1.ru_stime - c0.ru_stime, r))
        for prog, label in ((before, 'before'), (after, 'after')):
            med = [statistics.median(x[k] for x in seen[prog]) for k in range(3)]
            res = seen[prog][0][3]
            print('%-11s %-4s %-7s %-7s %9.4f %9.3f %9.3f %7d %11.6g' % (name, opts[-1], threads, label, *med, res['sweeps'], 100 * res['relative_error']), flush=True)

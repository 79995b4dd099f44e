#!/bin/sh
# Errors at rest without the diagonal, of two starts: SYMNMF is the program, DATA the folder of the sets.
# SEED is that of both, 0 if left out. Columns: set, rank, start, relative error, objective, sweeps, seconds.
set -eu
while read -r set file items; do
	for rank in 8 30; do
		for start in random tsvd; do
			"$SYMNMF" fit "$DATA/$set/$file" $items -k $rank --seed "${SEED:-0}" --diagonal ignore --init $start --bound=no --json 2>/dev/null |
				awk -v at="$set $rank $start" -F'[:,]' '/^  "sweeps"/ { s = $2 } /^  "seconds"/ { t = $2 } /^  "objective"/ { f = $2 } /^  "relative_error"/ { e = $2 } END { print at, e, f, s, t }'
		done
	done
done <<SETS
cbcl X.npy --items=columns
frey X.npy --items=columns
digits X.npy --items=columns
orl X.npy --items=columns
coil20 X.npy --items=columns
mnist4000 X.npy --items=columns
umist_32x32 X.npy --items=columns
hitech X.mtx.gz --items=columns
tr11 X.mtx.gz --items=rows
tr41 X.mtx.gz --items=rows
k1b X.mtx.gz --items=rows
classic X.mtx.gz --items=rows
la1 X.mtx.gz --items=rows
reviews X.mtx.gz --items=rows
cora A.mtx.gz
ego-Facebook A.mtx.gz
blogcatalog A.mtx.gz
polblogs A.mtx.gz
ca-AstroPh A.mtx.gz
ca-CondMat A.mtx.gz
lastfm-asia A.mtx.gz
email-Eu-core A.mtx.gz
SETS

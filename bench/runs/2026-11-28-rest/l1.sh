#!/bin/sh
# Objectives at rest with an l1 weight, of three starts: SYMNMF is the program, DATA the folder of the sets.
# The weight is a part of the unit that "symnmf info" prints. Columns: set, part, start, objective, sweeps, columns of zeros.
set -eu
while read -r set file items; do
	unit=$("$SYMNMF" info "$DATA/$set/$file" $items | awk '/unit of --l1/ { print $4 }')
	for part in 1e-6 1e-3 0.01 0.1 0.3 1 3 10; do
		weight=$(awk "BEGIN { printf \"%.6g\", $part * $unit }")
		for start in zero random tsvd; do
			"$SYMNMF" fit "$DATA/$set/$file" $items -k 10 --l1 "$weight" --init $start --bound=no --json 2>/dev/null |
				awk -v at="$set $part $start" -F'[:,]' '/^  "sweeps"/ { s = $2 } /^  "objective"/ { f = $2 } /^  "zero_columns"/ { z = $2 } END { print at, f, s, z }'
		done
	done
done <<SETS
cbcl X.npy --items=columns
frey X.npy --items=columns
digits X.npy --items=columns
orl X.npy --items=columns
coil20 X.npy --items=columns
mnist4000 X.npy --items=columns
hitech X.mtx.gz --items=columns
tr11 X.mtx.gz --items=rows
k1b X.mtx.gz --items=rows
classic X.mtx.gz --items=columns
cora A.mtx.gz
ego-Facebook A.mtx.gz
blogcatalog A.mtx.gz
polblogs A.mtx.gz
karate A.mtx.gz
SETS

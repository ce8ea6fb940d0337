#!/usr/bin/env bash
# Qualifies two places with the same jobs, order, offsets and contents, keeps
# the JSON of both, and puts their main figures side by side:
#
#   examples/qualify-two.sh /mnt/a /mnt/b --quick
#
# It draws no conclusion: a difference smaller than the spread of the trials
# (see `assay show`) may be noise. Needs jq; ASSAY names the program to use.
set -euo pipefail

if [[ $# -lt 2 ]]; then
    echo "usage: $0 PATH_A PATH_B [options of assay qualify]" >&2
    exit 2
fi
assay=${ASSAY:-assay}
here=$(dirname "${BASH_SOURCE[0]}")
places=("$1" "$2")
shift 2
seed=$RANDOM
out=$(mktemp --directory assay-two-XXXXXX)

# The second place is not run when the first one fails.
for side in 0 1; do
    "$assay" qualify "${places[side]}" --seed "$seed" --json "$@" >"$out/$side.json"
    jq --raw-output --from-file "$here/figures.jq" "$out/$side.json" >"$out/$side.tsv"
done

join -t $'\t' \
    <(awk -F'\t' -v OFS='\t' '{ print $1 " " $2, $3, $5 }' "$out/0.tsv" | sort) \
    <(awk -F'\t' -v OFS='\t' '{ print $1 " " $2, $3, $4, $5 }' "$out/1.tsv" | sort) |
    awk -F'\t' -v a="${places[0]}" -v b="${places[1]}" '
        BEGIN { printf "A is %s, B is %s\n%-34s %14s %14s  unit  measured\n", a, b, "", "A", "B" }
        { printf "%-34s %14s %14s  %-4s  %s\n", $1, $2, $4, $5, ($3 == $6 ? $3 : "A " $3 ", B " $6 ": not comparable") }'
echo "kept in $out" >&2

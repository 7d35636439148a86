#!/bin/bash
cd .device; export OUT=/tmp/o; mkdir -p $OUT /tmp/san2
CS=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer | tail -1); export CS
unset LD_LIBRARY_PATH
one() { tool=$1; name=$2; limit=$3; shift 3; f=/tmp/san2/$tool-${name//[\/:]/_}-$RANDOM.txt; s=$(date +%s)
  timeout -k 2 $limit $CS --tool $tool --launch-timeout 60 --error-exitcode 9 --print-limit 3 "$@" ./device --exact $name > $f 2>&1; rc=$?
  echo "$tool $name rc=$rc $(( $(date +%s) - s ))s $* $(grep -q '1 passed' $f && echo passed) $(grep -a -o 'ERROR SUMMARY.*\|RACECHECK SUMMARY.*' $f | tail -1)" >> $OUT/san2.txt
  [ $rc = 0 ] || { echo "--- $tool $name rc=$rc"; head -c 1500 $f; echo; } >> $OUT/san2bad.txt; }
export -f one
L=$(./device --list 2>/dev/null | grep -oE '^layouts::[^:]*')
grep -E '^layouts::hgemm-any-layout(/(thin|128x128|64x32|columns-16|rows-16|bf16|bf16-64x32|bf16-rows-16|bf16-thin|bf16-128x128|bf16-columns-16))?$' <<< "$L" | sed 's/^/memcheck /; s/$/ 60/' > /tmp/san2/jobs
for n in gemv/8-rows gemv/f16-8 gemv/bf16-8-rows hgemm-any-layout/outer-2 hgemm-any-layout/outer-8 hgemm-any-layout/rows-16 hgemm-any-layout/bf16-outer-2-low hgemm-any-layout/bf16-columns-16 hgemm-any-layout/bf16-outer-2 hgemm-any-layout/bf16-outer-8; do echo "racecheck layouts::$n 170"; done >> /tmp/san2/jobs
for n in lane-sharing/6144 prefetch; do echo "initcheck layouts::$n 170"; done >> /tmp/san2/jobs
xargs -P 8 -L 1 bash -c 'one "$@"' _ < /tmp/san2/jobs
cat $OUT/san2.txt; head -c 6000 $OUT/san2bad.txt

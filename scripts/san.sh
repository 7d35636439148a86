#!/bin/bash
# What of compute-sanitizer's runs was open, on one GPU: [SAN_SECONDS=230] OUT=FOLDER bash .device/san.sh, in the folder above .device.
# OUT/san.txt: a line for each run; OUT/sanbad.txt: what those printed that did not end with 0; OUT/sanhelp.txt: version and options.
[ -d .device ] && cd .device
[ -f device ] || { xz -dkf -T0 device.xz; chmod +x device; }
: "${OUT:=/tmp/o}"; mkdir -p "$OUT"; export OUT
export END=$(( $(date +%s) + ${SAN_SECONDS:-230} )); P=${SAN_PROCESSES:-12}
export CS=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer | tail -1)
export DIR=/tmp/san; rm -rf $DIR; mkdir -p $DIR; unset LD_LIBRARY_PATH; export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}
{ $CS --version; $CS --help; } > "$OUT/sanhelp.txt" 2>&1
# Some versions have it as a switch, others with yes.
grep -qE -- '--force-blocking-launches +arg' "$OUT/sanhelp.txt" && FORCE=--force-blocking-launches=yes || FORCE=--force-blocking-launches
export FORCE
export CONNECT=; grep -q -- --max-connections "$OUT/sanhelp.txt" && CONNECT=--max-connections=64
# Options by name: variables of the environment, then the tool's.
options() { case $1 in
  plain) ;;
  blocking) echo $FORCE ;;
  norecords) echo NV_COMPUTE_SANITIZER_MAX_RACECHECK_CLUSTER_RECORDS=0 ;;
  direct) echo NV_COMPUTE_SANITIZER_RACECHECK_INDIRECT_BARRIER_TRACKING=0 ;;
  both) echo NV_COMPUTE_SANITIZER_MAX_RACECHECK_CLUSTER_RECORDS=0 NV_COMPUTE_SANITIZER_RACECHECK_INDIRECT_BARRIER_TRACKING=0 ;;
  few) echo NV_COMPUTE_SANITIZER_MAX_RACECHECK_HAZARDS=1000 ;;
  one) echo NV_COMPUTE_SANITIZER_MAX_RACECHECK_CLUSTER_RECORDS=0 $FORCE --racecheck-num-workers=1 ;;
  part) echo --launch-count=4 ;;
  partboth) echo NV_COMPUTE_SANITIZER_MAX_RACECHECK_CLUSTER_RECORDS=0 NV_COMPUTE_SANITIZER_RACECHECK_INDIRECT_BARRIER_TRACKING=0 --launch-count=4 ;;
  esac; }
# Of the options that were tried on crashing kernels, those with which most runs came to their end.
best() { awk '$1=="racecheck" && $2!="plain" && $4~/^rc=(0|9)$/ && !/crashed/ {n[$2]++} END {b="norecords"; for (o in n) if (n[o] > n[b]) b=o; print b}' $OUT/san.txt; }
one() { tool=$1; how=$2; name=$3; limit=${4:-60}; left=$((END - $(date +%s)))
  [ $left -lt 4 ] && { echo "$tool $how $name notime" >> $OUT/san.txt; return; }
  [ $how = best ] && how=$(best)
  [ $left -gt $limit ] && left=$limit
  vars=(); opts=(); for o in $(options $how); do case $o in --*) opts+=($o) ;; *) vars+=($o) ;; esac; done
  f=$DIR/$tool-$how-${name//[\/:]/_}.$5.txt; start=$(date +%s)
  timeout -k 2 $left env "${vars[@]}" $CS --tool $tool --launch-timeout 60 $CONNECT --error-exitcode 9 --print-limit 3 "${opts[@]}" ./device --exact $name > $f 2>&1; rc=$?
  crashed=; grep -q "didn't terminate successfully\|terminate called\|Internal Sanitizer" $f && crashed=crashed
  grep -q '1 passed' $f && crashed="$crashed passed"
  echo "$tool $how $name rc=$rc $(( $(date +%s) - start ))s $crashed $(grep -a -o 'ERROR SUMMARY.*\|RACECHECK SUMMARY.*' $f | tail -1)" >> $OUT/san.txt
  [ $rc = 0 ] || { echo "--- $tool $how $name rc=$rc"; head -c 2500 $f; echo; } >> $OUT/sanbad.txt; }
export -f one options best
: > $OUT/san.txt; : > $OUT/sanbad.txt
L=$(./device --list 2>/dev/null | grep -oE '^layouts::[^:]*')
ANY=$(grep -E '^layouts::hgemm-any-layout(/(thin|128x128|64x32|columns-16|rows-16|bf16|bf16-64x32|bf16-rows-16|bf16-thin|bf16-128x128|bf16-columns-16))?$' <<< "$L")
{ for how in norecords direct both few one; do for n in hgemm-split-k/64x128 hgemm-split-k/bf16-64x32 tf32-split-k/32x64; do echo racecheck $how layouts::$n 40; done; done
  for n in $ANY; do echo memcheck plain $n; done
  for i in 1 2; do for n in prefetch transposed warp-tiling ilp lane-sharing/6144 async-copy; do echo initcheck blocking layouts::$n 90 $i; done; done
  grep -v split-k/ race.txt | grep -v 'split-k$' | sed 's/^/racecheck plain /'
  { cat crash.txt; grep '\(hgemm\|tf32\)-split-k' race.txt; } | sed 's/^/racecheck best /'
  grep '::split-k' race.txt | sed 's/^/racecheck plain /'; } > $DIR/jobs
xargs -P $P -L 1 bash -c 'one "$@"' _ < $DIR/jobs
# Those at the time limit again, only their first launches checked.
awk '$1=="racecheck" && $4=="rc=124" && !d[$3]++ {print "racecheck", ($3 ~ /(hgemm|tf32)-split-k/ ? "partboth" : "part"), $3, 60}' $OUT/san.txt > $DIR/again
# And every kernel that memcheck has not run over with these allocations.
for n in $L; do grep -qx "$n" <<< "$ANY" || echo memcheck plain $n 40; done >> $DIR/again
xargs -P $P -L 1 bash -c 'one "$@"' _ < $DIR/again
echo "### compute-sanitizer: tool, options, result, runs"
awk '{r=$4; if (/crashed/) r=r" crashed"; print $1, $2, r}' $OUT/san.txt | sort | uniq -c
echo "### best options for crashing kernels: $(best)"
grep -v 'rc=0 ' $OUT/san.txt | grep -v notime
head -c 150000 $OUT/sanbad.txt > $DIR/b; mv $DIR/b $OUT/sanbad.txt

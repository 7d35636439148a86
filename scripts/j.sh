#!/bin/bash
R=$PWD
. .device/env.sh
exec > >(tee $OUT/log.txt) 2>&1
mkdir -p /tmp/o
for x in layouts::fp16x3 layouts::tf32x3 fused::fp16x3 fused::tf32x3; do t 25 ./device $x | tail -4; done
cd $R; (SAN_SECONDS=165 SAN_PROCESSES=10 OUT=/tmp/o timeout 200 bash .device/san.sh > /tmp/o/san.log 2>&1) & 
(unset LD_LIBRARY_PATH; TORCH_SECONDS=150 OUT=/tmp/o timeout 200 bash .device/torch.sh > /tmp/o/torch.log 2>&1); wait
tail -40 /tmp/o/torch.log; cd $R/.device
S=$((330 - SECONDS)); [ $S -gt 190 ] && S=190
t $S $H tune --precision tf32 --output $OUT/table.txt --json $OUT/times.jsonl | tail -3
tar czf $OUT/o.tgz -C /tmp o

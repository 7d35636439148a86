#!/bin/bash
. .device/env.sh
exec > >(tee $OUT/log.txt) 2>&1
nvidia-smi --query-gpu=name,clocks.sm,power.limit --format=csv,noheader
q() { t 100 "$@" | grep -vE '^──|NCCL version|driver 580|^$'; }
for i in 1 2; do
t 60 ./throughput_old 1024 2048 4096 | grep -E "fp16x3 |fp16x3/|###" | head -12
t 60 ./throughput 1024 2048 4096 | grep -E "fp16x3 |fp16x3/|###" | head -12
done
mkdir -p $OUT/rec; t 100 ./rec_device --record $OUT/rec mma_sparse wgmma_types wgmma_sparse
q $H --precision fp32 --size 1024,2048,4096,8192 --iterations 20 --json $OUT/fp32.jsonl
t 100 ./device library::
t 100 ./device grading::
t 45 $H shapes random:100:8801 --precision fp32-strict --json $OUT/strict_random.jsonl | tail -40
t 45 $H shapes random:100:8802 --precision f16 --json $OUT/f16_random.jsonl | tail -40
t 70 $H shapes random:60:8803 --precision f16 --regret --json $OUT/f16_regret.jsonl | tail -40

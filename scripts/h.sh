#!/bin/bash
. .device/env.sh
exec > >(tee $OUT/log.txt) 2>&1
nvidia-smi --query-gpu=name,clocks.sm,power.limit --format=csv,noheader
t 530 $H tune --precision f16,bf16,fp32,tf32 --output $OUT/table.txt --json $OUT/times.jsonl

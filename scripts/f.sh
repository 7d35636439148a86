#!/bin/bash
. .device/env.sh
exec > >(tee $OUT/log.txt) 2>&1
nvidia-smi --query-gpu=name,clocks.sm,power.limit --format=csv,noheader
q() { t 100 "$@" | grep -vE '^──|NCCL version|driver 580|^$'; }
t 60 ./throughput_old 1024 2048 4096 8192 | grep -E "fp16x3|###"
t 60 ./throughput 1024 2048 4096 8192 | grep -E "fp16x3|###"
t 60 ./throughput_old 1024 2048 | grep -E "fp16x3 |fp16x3/128|###"
t 60 ./throughput 1024 2048 | grep -E "fp16x3 |fp16x3/128|###"
t 60 ./certified
q $H --precision fp32 --size 16384,32768,32768x32768x16384,32768x32768x32832,16384x16384x32768,32768x16384x32768,16384x32768x32768 --iterations 4 --json $OUT/large.jsonl
q $H --size 2048x2048x16384,4096x2048x16384,4096x4096x16384,8192,16384 --iterations 6 --json $OUT/strict.jsonl
export SGEMM_BACKEND=cuda SGEMM_PRECISION=fp32-strict
hp() { t 100 python3 host_pointer.py --library $PWD/libsgemm_blas.so --cublas-library $PWD/libsgemm_cublas.so --sizes $1 --task $2; }
hp 16384 large:sgemm:16384
hp 32768 large:sgemm:32768
LD_PRELOAD=$PWD/libsgemm_cublas.so hp 16384,32768 device:sgemm
unset SGEMM_BACKEND SGEMM_PRECISION
t 150 ./device library:: grading::

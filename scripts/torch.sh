#!/bin/bash
# The package and PyTorch's operators on one GPU: OUT=FOLDER bash .device/torch.sh, in the folder above .device. About 200 s.
[ -d .device ] && cd .device
for f in libsgemm_cublas.so libsgemm_capi.so; do [ -f $f ] || xz -dkf -T0 $f.xz; done
[ -d python ] || tar xf python.tar
: "${OUT:=/tmp/o}"; mkdir -p "$OUT"; unset LD_LIBRARY_PATH
timeout -k 5 120 python3 torch_sgemm.py package --library libsgemm_capi.so --python python 2>&1 | tee "$OUT/package.txt"
timeout -k 5 ${TORCH_SECONDS:-260} python3 torch_sgemm.py ops --cublas libsgemm_cublas.so --seconds $(( ${TORCH_SECONDS:-260} - 80 )) --output "$OUT/ops.json" 2>&1 | tee "$OUT/ops.txt"
xz -T0 -f "$OUT/ops.json"

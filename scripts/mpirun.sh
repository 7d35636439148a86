#!/bin/bash
# mpirun.sh -n 4 PROGRAM...: Open MPI 5.0.11's mpirun, of the folder beside this file.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
chmod +x "$here"/openmpi/bin/*
export OPAL_PREFIX=$here/openmpi PMIX_PREFIX=$here/openmpi PRTE_PREFIX=$here/openmpi
exec "$here/openmpi/bin/mpirun" --allow-run-as-root --oversubscribe --bind-to none "$@"

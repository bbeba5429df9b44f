#!/usr/bin/env bash
# Translates a file in shards with Slurm: one task of an array for each.
#
#     sbatch --array=0-99 example/cluster/slurm_array.sh MODEL INPUT FOLDER 100
#     cat FOLDER/*.zst > OUTPUT.zst                 # when all are complete; .gz or .txt, as the input
#
# A task that is killed or preempted goes on when it runs again: by itself (--requeue), or by the same sbatch once more,
# for all shards or some of them (--array=3,7). Complete ones end at once. QKV names the command, qkv unless set;
# QKV_FLAGS are flags for it.
#SBATCH --job-name=qkv-translate
#SBATCH --cpus-per-task=4
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@60
set -euo pipefail
if (($# != 4)); then
  sed -n '4,5s/^# *//p' "$0" >&2
  exit 2
fi
model=$1 input=$2 folder=$3 shards=$4
suffix=.txt
case $input in *.gz) suffix=.gz ;; *.zst) suffix=.zst ;; esac
mkdir -p "$folder"
output=$folder/$(printf '%06d' "$SLURM_ARRAY_TASK_ID")$suffix

read -ra flags <<<"${QKV_FLAGS:-}"
exec "${QKV:-qkv}" translate --model "$model" --input "$input" --output "$output" \
  --shards "$shards" --shard "$SLURM_ARRAY_TASK_ID" --threads "${SLURM_CPUS_PER_TASK:-0}" \
  --json-progress 60 --quiet "${flags[@]}"

#!/usr/bin/env bash
# Translates a file in shards with GNU parallel: as many processes as there are processors, or those of other machines.
#
#     example/cluster/gnu_parallel.sh MODEL INPUT OUTPUT SHARDS [OPTION OF PARALLEL ...]
#     example/cluster/gnu_parallel.sh my-model corpus.txt.zst corpus.de.zst 100 --sshloginfile machines --retries 3
#
# Run again, it goes on: complete shards are not computed again, and a shard that was killed continues. OUTPUT appears when
# all shards are complete. Other machines must see the same files under the same names. QKV names the command, qkv unless
# set; QKV_FLAGS are flags for it.
set -euo pipefail
if (($# < 4)); then
  sed -n '4,5s/^# *//p' "$0" >&2
  exit 2
fi
model=$1 input=$2 output=$3 shards=$4
suffix=.txt
case $output in *.gz) suffix=.gz ;; *.zst) suffix=.zst ;; esac
folder=$output.shards
mkdir -p "$folder"

read -ra flags <<<"${QKV_FLAGS:-}"
# {} is the shard with zeros before it, for the order of the names.
seq -w 0 $((shards - 1)) | parallel -q "${@:5}" \
  "${QKV:-qkv}" translate --model "$model" --input "$input" --output "$folder/{}$suffix" \
  --shards "$shards" --shard '{= $_ += 0 =}' --threads 1 --quiet "${flags[@]}"

parts=("$folder"/*"$suffix")
if ((${#parts[@]} != shards)); then
  echo "$0: $folder has ${#parts[@]} shards, expected $shards" >&2
  exit 1
fi
cat "${parts[@]}" >"$output.tmp" # compressed files may be concatenated
mv "$output.tmp" "$output"

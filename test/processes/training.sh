#!/usr/bin/env bash
# qkv train under mpirun: the same model of 1, 2 and 4 processes; a killed process ends all, and another number of them resumes;
# groups of processes share rows.
#     QKV=build/cli/qkv MPIRUN="mpirun -n" training.sh FOLDER
set -euo pipefail
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1
folder=$1
rm -rf "$folder" && mkdir -p "$folder" && cd "$folder"
for i in $(seq 0 399); do
  word=$(((i * 7919 + 13) % 100000))
  printf '%s\t%s\n' "$word" "$(rev <<<"$word")"
done >pairs.tsv

train() { # RANKS MODEL FLAGS
  local ranks=$1 model=$2
  shift 2
  exec $MPIRUN "$ranks" "$QKV" train --train pairs.tsv --model "$model" --tokenizer character --vocabulary-size 32 \
    --d-model 16 --heads 2 --ffn 32 --encoder-layers 1 --decoder-layers 1 --batch-tokens 100 --accumulate 4 --pieces 4 \
    --max-steps 60 --save-every 5 --valid-every 20 --schedule inverse-sqrt --resume --quiet --threads 1 "$@"
}
same() { cmp "$1/model.safetensors" "$2/model.safetensors"; }

(train 1 one)
(train 2 two)
(train 4 four --shard-optimizer --report-every 5)
same one two
same one four
grep -q '"processes":4' four/training/log.jsonl

train 4 killed 2>killed.txt &
launcher=$!
until [ -e killed/training/step-000000005.safetensors ]; do sleep 0.02; done
kill -KILL "$(pgrep -P "$launcher" qkv | tail -1)"
if wait "$launcher"; then
  echo "the training ended without an error, although one of its processes was killed" && exit 1
fi
(train 2 killed)
same one killed
# Rows that two processes share: one such group, and two.
for i in $(seq 0 199); do echo "$((i % 7)) $((i % 5)) $((i % 3)) and $((i * 7919 % 1000)) of them in a row"; done >text.txt
shared() { # RANKS MODEL
  exec $MPIRUN "$1" "$QKV" train --architecture causal --train text.txt --model "$2" --vocabulary-size 60 --d-model 16 \
    --heads 2 --ffn 32 --decoder-layers 1 --max-length 32 --batch-tokens 64 --accumulate 2 --pieces 2 --max-steps 10 \
    --valid-every 5 --context-parallel 2 --quiet --threads 1
}
(shared 2 group)
(shared 4 groups)
same group groups
echo "all trainings are the same"

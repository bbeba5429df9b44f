#!/usr/bin/env bash
# The first hour with qkv, on the command line: train a translator, translate, score, draw where it looked; then the same
# with attention of another variant: a sliding window and a soft cap on the scores.
#
#     quickstart.sh FOLDER       # writes the pairs, the models and the pictures there; QKV=... is the command
set -euo pipefail
qkv=${QKV:-qkv}
folder=${1:-quickstart}
mkdir -p "$folder"

# Sentence pairs, one on a line: source, tab, target.
words=(zero one two three four five six seven eight nine)
for n in {000..999}; do
  printf '%s %s %s\t%s\n' "${words[${n:0:1}]}" "${words[${n:1:1}]}" "${words[${n:2:1}]}" "$n"
done >"$folder/pairs.tsv"

# Settings that several trainings share stand in a TOML file; flags win.
cat >"$folder/settings.toml" <<'END'
recipe = "transformer-tiny"
d-model = 64
ffn = 128
encoder-layers = 2
decoder-layers = 2
dropout = 0.0
tie = "none"
tokenizer = "character"
schedule = "inverse-sqrt"
learning-rate = 3e-3
warmup = 50
batch-tokens = 600
max-steps = 250
hold-out = 100
END
train=("$qkv" train --config "$folder/settings.toml" --train "$folder/pairs.tsv" --overwrite --quiet)

"${train[@]}" --model "$folder/model"
echo "seven two five" | "$qkv" translate --model "$folder/model"
"$qkv" evaluate --model "$folder/model" --input "$folder/model/held-out.tsv"
"$qkv" inspect --model "$folder/model" --output "$folder/attention.html" "seven two five"

# Another attention variant: each query of self-attention sees 16 positions to both sides, and scores are bounded by 20.
"${train[@]}" --model "$folder/window" --self-attention window=16+softcap=20
"$qkv" describe --model "$folder/window"
"$qkv" inspect --model "$folder/window" --output "$folder/window.svg" "seven two five"

#!/bin/sh
# Trains a small model and compares what transformer.js computes with the library:
#
#     check_translation.sh QKV PYTHON NODE FOLDER
set -eu
qkv=$1 python=$2 node=$3 folder=$4
here=$(dirname "$0")
rm -rf "$folder"
mkdir -p "$folder"
"$qkv" demo --folder "$folder/demo" --d-model 32 --ffn 64 --steps 250 >"$folder/training.log" 2>&1 ||
  { cat "$folder/training.log" >&2; exit 1; }
"$python" "$here/translation_model.py" "$folder/demo/model" >"$folder/translation_model.js"
number=0
while read -r sentence; do
  number=$((number + 1))
  "$qkv" inspect --quiet -m "$folder/demo/model" --beam 1 -o "$folder/$number.json" "$sentence" >/dev/null
done <<END
Friday, November 20, 2026
1. M$(printf '\303\244')rz 1984
the  3rd of May, 1901
%% mai ~ 2044
7
END
"$node" "$here/check_translation.js" "$folder/translation_model.js" "$folder"/?.json

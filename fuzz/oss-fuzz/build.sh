#!/bin/bash -eu
# Builds the fuzz targets into $OUT, with their inputs, dictionaries and libraries. It is called by OSS-Fuzz in the container of
# Dockerfile, with the flags of the sanitizer in CXXFLAGS.
#
# The libraries of Ubuntu are built with libstdc++, so everything is; they are copied beside the targets, since the container
# that runs them does not have them.
export CXXFLAGS=${CXXFLAGS//-stdlib=libc++/}
cmake -S . -B build-fuzz -G Ninja --log-level=NOTICE -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG='-O1 -g1' \
  -DQKV_SANITIZE=fuzzer-no-link -DQKV_CCACHE=OFF
cmake --build build-fuzz --target fuzz

mkdir -p "$OUT/lib"
for source in fuzz/target/*.cc; do
  name=$(basename "$source" .cc)
  case $name in hugging_face_folder) continue ;; esac # reads test/checkpoints, which is not in $OUT
  program=$OUT/fuzz_$name
  cp "build-fuzz/fuzz/fuzz_$name" "$program"
  ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// && $1 !~ /^(libc|libm|libdl|librt|libpthread|libgcc_s|ld-linux)[.-]/ { print $3 }' |
    while read -r library; do cp -Lu "$library" "$OUT/lib/"; done
  patchelf --set-rpath '$ORIGIN/lib' --force-rpath "$program"
  zip -jqr "${program}_seed_corpus.zip" "fuzz/corpus/$name"
  if [[ -f fuzz/dictionary/$name.dict ]]; then cp "fuzz/dictionary/$name.dict" "$program.dict"; fi
  printf '[libfuzzer]\nmax_len = 8192\ntimeout = 10\nrss_limit_mb = 2048\n' >"$program.options"
done

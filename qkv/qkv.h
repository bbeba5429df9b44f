// All public headers: those of qkv::attention (qkv/attention.h), and the Transformer, its text, training, decoding,
// metrics and pictures.
//
//     #include "qkv/qkv.h"
//
//     qkv::Translator translator("my-model");
//     fmt::print("{}\n", translator.translate("I am cold.").text);
#pragma once

#include "qkv/attention.h"
#include "qkv/base/file.h"
#include "qkv/decode/alignment.h"
#include "qkv/decode/inspect.h"
#include "qkv/decode/score.h"
#include "qkv/decode/search.h"
#include "qkv/decode/translator.h"
#include "qkv/layer/bahdanau_decoder.h"
#include "qkv/layer/block.h"
#include "qkv/layer/feed_forward.h"
#include "qkv/layer/gru.h"
#include "qkv/layer/linear.h"
#include "qkv/layer/lstm.h"
#include "qkv/layer/luong_decoder.h"
#include "qkv/layer/multi_head_attention.h"
#include "qkv/layer/norm.h"
#include "qkv/layer/recurrent.h"
#include "qkv/metric/bleu.h"
#include "qkv/metric/chrf.h"
#include "qkv/metric/ter.h"
#include "qkv/model/config.h"
#include "qkv/model/describe.h"
#include "qkv/model/model_file.h"
#include "qkv/model/transformer.h"
#include "qkv/picture/heatmap.h"
#include "qkv/picture/picture.h"
#include "qkv/tensor/safetensors.h"
#include "qkv/text/corpus.h"
#include "qkv/text/tokenizer.h"
#include "qkv/train/optimizer.h"
#include "qkv/train/options.h"
#include "qkv/train/schedule.h"
#include "qkv/train/train.h"

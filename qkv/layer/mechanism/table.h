// Every mechanism of attention variants; attention_mechanisms() (mechanism.h) lists them in the order of the help.
#pragma once

#include "qkv/layer/mechanism/bias.h"
#include "qkv/layer/mechanism/bigbird_evaluation.h"
#include "qkv/layer/mechanism/falcon_alibi.h"
#include "qkv/layer/mechanism/full.h"
#include "qkv/layer/mechanism/kernel.h"
#include "qkv/layer/mechanism/local_window.h"
#include "qkv/layer/mechanism/longformer_separate.h"
#include "qkv/layer/mechanism/mask.h"
#include "qkv/layer/mechanism/multi_token.h"
#include "qkv/layer/mechanism/position_bias.h"
#include "qkv/layer/mechanism/rotary.h"
#include "qkv/layer/mechanism/score.h"
#include "qkv/layer/mechanism/softcap.h"
#include "qkv/layer/mechanism/softmax_with_sink.h"

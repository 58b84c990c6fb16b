// The functions that answer libcudnn.so.9's calls, named in cudnn.policy: includes the topic
// headers.
#pragma once

#include "shim/vendor/cudnn/backend.h"
#include "shim/vendor/cudnn/batch_norm.h"
#include "shim/vendor/cudnn/convolution.h"
#include "shim/vendor/cudnn/ctc_loss.h"
#include "shim/vendor/cudnn/descriptor.h"
#include "shim/vendor/cudnn/handle.h"
#include "shim/vendor/cudnn/rnn.h"
#include "shim/vendor/cudnn/rnn_descriptor.h"
#include "shim/vendor/cudnn/spatial_transformer.h"

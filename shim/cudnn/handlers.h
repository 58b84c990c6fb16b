// The functions that answer libcudnn.so.9's calls, named in cudnn.policy: includes the topic
// headers.
#pragma once

#include "shim/cudnn/backend.h"
#include "shim/cudnn/batch_norm.h"
#include "shim/cudnn/convolution.h"
#include "shim/cudnn/ctc_loss.h"
#include "shim/cudnn/descriptor.h"
#include "shim/cudnn/handle.h"
#include "shim/cudnn/rnn.h"
#include "shim/cudnn/rnn_descriptor.h"
#include "shim/cudnn/spatial_transformer.h"

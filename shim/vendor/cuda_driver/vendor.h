// The driver's headers as the exporting files need them: with old versions of functions under their
// own names. Handlers include <cuda.h> alone.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaEGL.h>
#include <cudaGL.h>
#include <vdpau/vdpau.h>

// Needs the types of vdpau.h, which it does not include.
#include <cudaVDPAU.h>

#include "shim/vendor/cuda_driver/supplement.h"

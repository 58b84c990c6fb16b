// Text of jobs for people (services/controller/shown), by the command's own names: lines of the
// report, quantities, titles of kernels, text that a terminal may show.
#pragma once

#include "services/controller/shown/kernel_title.h"
#include "services/controller/shown/printable.h"
#include "services/controller/shown/report_line.h"

namespace eidolon::cli {

using controller::shown::FormatCount;
using controller::shown::FormatSeconds;
using controller::shown::FormatSpan;
using controller::shown::KernelTitle;
using controller::shown::Line;
using controller::shown::Percent;
using controller::shown::Print;
using controller::shown::Printable;
using controller::shown::ToPrintable;
using controller::shown::ToPrintableLine;
using controller::shown::ToPrintableMessage;

}  // namespace eidolon::cli

// Reading of documents that another version may have written (services/controller/shown), by the
// command's own names.
#pragma once

#include "services/controller/shown/document_fields.h"

namespace eidolon::cli {

using controller::shown::At;
using controller::shown::Beginning;
using controller::shown::BytesAt;
using controller::shown::CountAt;
using controller::shown::NumberAt;
using controller::shown::Path;
using controller::shown::PhaseOf;
using controller::shown::ShownPhaseOf;
using controller::shown::StandingCondition;
using controller::shown::TextAt;

}  // namespace eidolon::cli

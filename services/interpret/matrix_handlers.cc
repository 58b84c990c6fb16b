#include "services/interpret/handlers.h"

namespace eidolon::interpret {

Handler FindMatrixHandler(sass::Operation, const sass::Word&) { return nullptr; }

}  // namespace eidolon::interpret

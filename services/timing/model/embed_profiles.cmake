# Writes OUT, a source that holds the files of the folder PROFILES and lists them in the function
# LIST: H100-SXM5-80GB.bf16.zst becomes the rows of that GPU and type.
file(GLOB files ${PROFILES}/*.zst)
list(SORT files)
set(blobs)
set(declarations)
set(entries)
set(index 0)
foreach(file ${files})
  get_filename_component(stem ${file} NAME)
  string(REGEX MATCH "^(.*)\\.([a-z0-9]+)\\.zst$" matched ${stem})
  if(NOT matched)
    message(FATAL_ERROR "${file}: not GPU.TYPE.zst")
  endif()
  file(SIZE ${file} bytes)
  set(symbol eidolon_${LIST}_${index})
  string(APPEND blobs "asm(\".pushsection .rodata\\n.balign 16\\n${symbol}:\\n\"\n    \".incbin \\\"${file}\\\"\\n.popsection\\n\");\n")
  string(APPEND declarations "extern const char ${symbol}[] __attribute__((visibility(\"hidden\")));\n")
  string(APPEND entries "    {\"${CMAKE_MATCH_1}\", \"${CMAKE_MATCH_2}\", {${symbol}, ${bytes}}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUT} "#include \"services/timing/model/embedded_rows.h\"

${blobs}
extern \"C\" {
${declarations}}

namespace eidolon::timing::model {

std::span<const EmbeddedRows> ${LIST}() {
  static const EmbeddedRows rows[] = {
${entries}  };
  return rows;
}

}  // namespace eidolon::timing::model
")

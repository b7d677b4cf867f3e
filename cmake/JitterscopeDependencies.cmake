# All from Debian packages; CONTRIBUTING.md lists them.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Boost REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(dnnl REQUIRED)
find_package(Threads REQUIRED)
find_package(simdjson REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Protobuf REQUIRED)
find_package(zstd REQUIRED)
find_path(FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h REQUIRED)
find_program(FLATC flatc REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_package(SQLite3 REQUIRED)
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_writer.hpp REQUIRED)
find_path(ONNX_SCHEMA_FOLDER onnx.proto PATH_SUFFIXES onnx REQUIRED)
# Its headers alone: Debian's CMake package links a shared library that a consumer would then need as well.
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
find_package(OpenMP QUIET COMPONENTS CXX)  # optional; found here so that a consumer's targets see it as well
# BUILD_INTERFACE: a consumer of the installed static library links what must be linked, no more.
set(JITTERSCOPE_LIBRARIES
  $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> $<BUILD_INTERFACE:Boost::headers>
  $<BUILD_INTERFACE:Eigen3::Eigen> fmt::fmt DNNL::dnnl simdjson::simdjson ZLIB::ZLIB protobuf::libprotobuf-lite zstd::libzstd_shared SQLite::SQLite3 Threads::Threads ${CMAKE_DL_LIBS})

// The one door to Catch2, so that its version and its configuration are decided in one place.
#pragma once

#include <catch2/catch.hpp>

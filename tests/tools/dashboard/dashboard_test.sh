#!/usr/bin/env bash
# Runs the tests of bench/dashboard, after installing the npm packages that they need.
#
#   dashboard_test.sh CHROMIUM
#
# CHROMIUM is the browser in which the page is opened.
set -euo pipefail

export CHROMIUM=$1
cd "$(dirname "$0")/../../../bench/dashboard"
../../scripts/npm-packages .
exec npm test

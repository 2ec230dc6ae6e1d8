#!/usr/bin/env bash
# Runs the GPU tests of this bundle.
#
#   ./run [--sanitize] [FILTER]
#
# FILTER      only tests whose name contains it
# --sanitize  under compute-sanitizer's memcheck
# LIMIT       environment: the seconds that each program may take (900; 3600 with --sanitize)
#
# The output of each program is kept in logs/. The last line is `N passed, N failed`.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 2

checker=()
filter=()
limit="${LIMIT:-}"
for argument in "$@"; do
    case "$argument" in
    --sanitize)
        sanitizer="$PWD/sanitizer/compute-sanitizer"
        if [ -f sanitizer.tar.gz ] && [ ! -d sanitizer ]; then
            mkdir sanitizer && tar -xzf sanitizer.tar.gz -C sanitizer && chmod +x sanitizer/* || exit 2
        fi
        [ -x "$sanitizer" ] || sanitizer="$(command -v compute-sanitizer)" || {
            echo "error: no compute-sanitizer in this bundle or on PATH; pack it with --bundle DIR --sanitize" >&2
            exit 2
        }
        # Calls that the driver refuses are the business of the tests, which expect some of them; and
        # a test that needs a fault has a child process for it.
        checker=("$sanitizer" --tool memcheck --error-exitcode 86 --require-cuda-init no
            --report-api-errors no --target-processes application-only)
        # It runs one kernel at a time; tests of kernels that overlap ask for this.
        export FA3_SERIALISED=1
        limit="${limit:-3600}"
        ;;
    -*)
        sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]##*/}" >&2
        exit 2
        ;;
    *) filter=("$argument") ;;
    esac
done
limit="${limit:-900}"

mkdir -p logs
passed=0
failed=0
summary=""

# The sum of the numbers before a word in the result lines of a log.
count() {
    sed -n "s/^test result: .* \([0-9][0-9]*\) $1;.*/\1/p" "$2" | awk '{ sum += $1 } END { print sum + 0 }'
}

for program in tests/*; do
    name="${program#tests/}"
    log="logs/$name.log"
    echo
    echo "==== $name"
    begin=$SECONDS
    timeout "$limit" "${checker[@]}" "$PWD/$program" "${filter[@]}" 2>&1 | tee "$log"
    code="${PIPESTATUS[0]}"
    ok="$(count passed "$log")"
    bad="$(count failed "$log")"
    verdict="ok"
    if [ "$code" -eq 124 ]; then
        verdict="timed out after $limit s"
    elif [ "$code" -ne 0 ]; then
        verdict="failed with code $code"
    fi
    # A program that fails without naming a test, or ends without a result, counts as one failure.
    if ! grep -q '^test result: ' "$log"; then
        verdict="$verdict, no result"
        bad=1
    elif [ "$code" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
    summary+="$(printf '%-32s %5d passed %4d failed %5d s  %s' "$name" "$ok" "$bad" "$((SECONDS - begin))" "$verdict")"$'\n'
done

# Runs a program that passes or fails as a whole, if the filter is in its name.
whole() {
    local name="$1" log="logs/$1.log" begin=$SECONDS
    shift
    [[ "$name" == *"${filter[*]}"* ]] || return
    echo
    echo "==== $name"
    if timeout "$limit" "$@" 2>&1 | tee "$log"; then
        passed=$((passed + 1))
        summary+="$(printf '%-32s %5d passed %4d failed %5d s  ok' "$name" 1 0 "$((SECONDS - begin))")"$'\n'
    else
        failed=$((failed + 1))
        summary+="$(printf '%-32s %5d passed %4d failed %5d s  failed' "$name" 0 1 "$((SECONDS - begin))")"$'\n'
    fi
}

if [ -x capi/values ]; then
    whole capi-values "${checker[@]}" capi/values cuda:0 13
    if [ "${#checker[@]}" -gt 0 ]; then
        summary+="capi-torch_ctypes: not run under compute-sanitizer, which would check torch"$'\n'
    elif python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>logs/python3.log; then
        whole capi-torch_ctypes python3 capi/torch_ctypes.py capi/libfa3.so
    else
        summary+="capi-torch_ctypes: not run, for python3 has no torch for this GPU"$'\n'
    fi
fi

echo
echo "$summary"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

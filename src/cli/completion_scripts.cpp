#include "cli/completion.hpp"

namespace jitterscope::cli {
namespace {

constexpr const char* kBash = R"SCRIPT(# Completion of jitterscope for bash.
_jitterscope() {
  local line=${COMP_LINE:0:COMP_POINT} breaks='' current before='' answer
  local -a words answers
  read -ra words <<<"$line"
  [[ $line != *[[:space:]] ]] || words+=("")
  current=${words[-1]}
  # bash replaces only what follows the last of these.
  [[ $COMP_WORDBREAKS != *:* ]] || breaks+=':'
  [[ $COMP_WORDBREAKS != *=* ]] || breaks+='='
  [[ -z $breaks ]] || before=${current%"${current##*[$breaks]}"}
  COMPREPLY=()
  mapfile -t answers < <("${words[0]/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null)
  for answer in "${answers[@]}"; do
    if [[ $answer == :files ]]; then
      compopt -o filenames 2>/dev/null
      mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${current##*[:=]}")
    else
      answer=${answer%%$'\t'*}
      COMPREPLY+=("${answer#"$before"}")
      [[ $answer != *[:=] ]] || compopt -o nospace 2>/dev/null
    fi
  done
}
complete -F _jitterscope jitterscope
)SCRIPT";

constexpr const char* kZsh = R"SCRIPT(#compdef jitterscope
# Completion of jitterscope for zsh.
_jitterscope() {
  local answer word shown files=no
  local -a answers whole open
  answers=("${(@f)$("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  for answer in "${answers[@]}"; do
    word=${answer%%$'\t'*} shown=${${answer%%$'\t'*}//:/\\:}
    [[ $answer != *$'\t'?* ]] || shown+=:${answer#*$'\t'}
    case $word in
      :files) files=yes ;;
      *[:=]) open+=("$shown") ;;
      ?*) whole+=("$shown") ;;
    esac
  done
  (( ! $#open )) || _describe -t open 'value' open -S ''
  (( ! $#whole )) || _describe -t whole 'value' whole
  [[ $files == no ]] || _files
}
if [[ $funcstack[1] == _jitterscope ]]; then
  _jitterscope "$@"
else
  compdef _jitterscope jitterscope
fi
)SCRIPT";

constexpr const char* kFish = R"SCRIPT(# Completion of jitterscope for fish.
function __jitterscope_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  for answer in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    if test "$answer" = :files
      __fish_complete_path "$current"
    else
      echo $answer
    end
  end
end
complete -c jitterscope -f -a '(__jitterscope_complete)'
)SCRIPT";

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return kBash;
  return shell == "zsh" ? kZsh : kFish;
}

}  // namespace jitterscope::cli

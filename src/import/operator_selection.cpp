#include "import/operator_selection.hpp"

#include "import/operator_work.hpp"

namespace jitterscope {
namespace {

// What is timed beneath a node.
struct Beneath {
  bool anything = false;
  bool computing = false;  ///< more than fills and copies
};

OperatorRole role_of(const OperatorNode& node, Work work, const Beneath& beneath) {
  switch (work) {
    case Work::none:
    case Work::passes:
    case Work::framework: return OperatorRole::nothing;
    case Work::calls: return beneath.anything ? OperatorRole::nothing : OperatorRole::timed;
    case Work::whole:
    case Work::beside: return OperatorRole::timed;
    // What only fills and copies beneath it, it has done for work of its own.
    case Work::unknown:
      return node.launches || !beneath.computing ? OperatorRole::timed : OperatorRole::nothing;
    case Work::foreign:
      return node.launches || !beneath.anything ? OperatorRole::foreign : OperatorRole::nothing;
  }
  return OperatorRole::nothing;
}

}  // namespace

std::vector<OperatorRole> select_operators(const std::vector<OperatorNode>& nodes) {
  std::vector<OperatorRole> roles(nodes.size());
  std::vector<Work> works(nodes.size());
  std::vector<Beneath> beneath(nodes.size());
  // Parents stand before their children: from the end, each node's children are known when it comes.
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const OperatorNode& node = nodes[i];
    works[i] = work_of(node.name);
    roles[i] = role_of(node, works[i], beneath[i]);
    if (node.parent == kNoParent) continue;
    const bool selected = roles[i] != OperatorRole::nothing;
    Beneath& above = beneath[node.parent];
    above.anything |= beneath[i].anything || selected;
    above.computing |= beneath[i].computing || (selected && !only_moves_memory(node.name));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t parent = nodes[i].parent;
    if (parent == kNoParent) continue;
    const bool taken = roles[parent] == OperatorRole::part || roles[parent] == OperatorRole::foreign ||
                       (roles[parent] == OperatorRole::timed && works[parent] != Work::beside);
    if (taken) roles[i] = OperatorRole::part;
  }
  return roles;
}

std::vector<bool> with_timed_sums(const std::vector<OperatorNode>& nodes,
                                  const std::vector<OperatorRole>& roles) {
  std::vector<bool> result(nodes.size(), false);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (roles[i] != OperatorRole::timed || nodes[i].name != "aten::sum") continue;
    std::size_t above = nodes[i].parent;
    while (above != kNoParent && nodes[above].name == "aten::sum") above = nodes[above].parent;
    if (above != kNoParent) result[above] = true;
  }
  return result;
}

std::vector<std::size_t> owners(const std::vector<OperatorNode>& nodes,
                                const std::vector<OperatorRole>& roles) {
  std::vector<std::size_t> result(nodes.size(), kNoParent);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (roles[i] == OperatorRole::timed || roles[i] == OperatorRole::foreign) {
      result[i] = i;
    } else if (nodes[i].parent != kNoParent) {
      result[i] = result[nodes[i].parent];
    }
  }
  return result;
}

}  // namespace jitterscope

// A program that calls the functions of examples/fdps/force_kyoho.hpp as FDPS does: with the
// interaction lists of a tree walk, some groups of sinks in each call, and each call's forces
// fetched when the lists of the next are made. FDPS itself is not needed: the folder fdps/ has
// stand-ins for its types. As for FDPS's sample, the compiler is told to include force_kyoho.hpp.
#include <particle_simulator.hpp>

#include "user-defined.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "native_check.h"

PS::F64 FPGrav::eps = 1.0 / 32.0;

namespace {

const double THETA = 0.5;
const int BODIES = 4800, LEAF_LIMIT = 8, WALK_LIMIT = 7;
// A cell of at most so many bodies is not divided among groups of sinks; a group has at least half
// as many bodies.
const int GROUP_LIMIT = 160;

struct Cell {
    PS::F64vec centre;
    double width;
    int first_body, bodies;
    int first_child; // of eight; 0 for a leaf
};

// Bodies in the order of a tree, and the centre of mass of each cell of the tree.
struct Tree {
    std::vector<FPGrav> bodies;
    std::vector<Cell> cells;
    std::vector<PS::SPJMonopole> centres;
};

// A group of sinks, with the bodies and cells that act on it.
struct Group {
    int first, count;
    std::vector<PS::S32> bodies, cells;
};

void divide(Tree &tree, size_t number) {
    Cell cell = tree.cells[number];
    if (cell.bodies <= LEAF_LIMIT) return;
    cell.first_child = static_cast<int>(tree.cells.size());
    tree.cells[number] = cell;
    const std::vector<FPGrav>::iterator begin = tree.bodies.begin() + cell.first_body, end = begin + cell.bodies;
    const PS::F64vec c = cell.centre;
    const auto octant = [c](const FPGrav &b) { return (b.pos.x > c.x) + 2 * (b.pos.y > c.y) + 4 * (b.pos.z > c.z); };
    std::sort(begin, end, [octant](const FPGrav &a, const FPGrav &b) { return octant(a) < octant(b); });
    int first = cell.first_body;
    for (int child = 0; child < 8; child++) {
        const double quarter = cell.width / 4;
        PS::F64vec centre(child & 1 ? quarter : -quarter, child & 2 ? quarter : -quarter, child & 4 ? quarter : -quarter);
        centre += c;
        const int count =
            static_cast<int>(std::count_if(begin, end, [=](const FPGrav &body) { return octant(body) == child; }));
        tree.cells.push_back(Cell{centre, cell.width / 2, first, count, 0});
        first += count;
    }
    for (int child = 0; child < 8; child++) divide(tree, cell.first_child + child);
}

Tree make_tree(const std::vector<FPGrav> &bodies) {
    Tree tree;
    tree.bodies = bodies;
    double width = 0;
    for (const FPGrav &body : bodies)
        width = std::max(width, 2.001 * std::max(fabs(body.pos.x), std::max(fabs(body.pos.y), fabs(body.pos.z))));
    tree.cells.push_back(Cell{PS::F64vec(0.0), width, 0, static_cast<int>(bodies.size()), 0});
    divide(tree, 0);
    for (const Cell &cell : tree.cells) {
        PS::F64vec moment = 0.0;
        double mass = 0;
        for (int b = cell.first_body; b < cell.first_body + cell.bodies; b++) {
            mass += tree.bodies[b].mass;
            moment += tree.bodies[b].pos * tree.bodies[b].mass;
        }
        PS::SPJMonopole centre;
        centre.mass = mass;
        // As in FDPS the centre of bodies without mass is not a number.
        if (cell.bodies > 0) centre.pos = moment / mass;
        tree.centres.push_back(centre);
    }
    return tree;
}

void find_sources(const Tree &tree, int number, const PS::F64vec &low, const PS::F64vec &high, Group &group) {
    const Cell &cell = tree.cells[number];
    if (cell.bodies == 0) return;
    const auto beyond = [](double x, double low, double high) { return std::max(0.0, std::max(low - x, x - high)); };
    const PS::F64vec distance(beyond(cell.centre.x, low.x, high.x), beyond(cell.centre.y, low.y, high.y),
                              beyond(cell.centre.z, low.z, high.z));
    if (cell.width * cell.width < THETA * THETA * (distance * distance)) {
        group.cells.push_back(number);
    } else if (cell.first_child == 0) {
        for (int b = 0; b < cell.bodies; b++) group.bodies.push_back(cell.first_body + b);
    } else {
        for (int child = 0; child < 8; child++) find_sources(tree, cell.first_child + child, low, high, group);
    }
}

// Adds the bodies of a cell to groups that have between half of GROUP_LIMIT and three halves of it.
void find_groups(const Tree &tree, int number, std::vector<Group> &groups) {
    const Cell &cell = tree.cells[number];
    if (cell.bodies > GROUP_LIMIT && cell.first_child != 0) {
        for (int child = 0; child < 8; child++) find_groups(tree, cell.first_child + child, groups);
        return;
    }
    const int rest = static_cast<int>(tree.bodies.size()) - cell.first_body;
    if (groups.back().count >= GROUP_LIMIT / 2 && rest >= GROUP_LIMIT / 2)
        groups.push_back(Group{cell.first_body, 0, {}, {}});
    groups.back().count += cell.bodies;
}

std::vector<Group> make_groups(const Tree &tree) {
    std::vector<Group> groups(1, Group{0, 0, {}, {}});
    find_groups(tree, 0, groups);
    for (Group &group : groups) {
        PS::F64vec low = tree.bodies[group.first].pos, high = low;
        for (int b = group.first; b < group.first + group.count; b++) {
            const PS::F64vec x = tree.bodies[b].pos;
            low = PS::F64vec(std::min(low.x, x.x), std::min(low.y, x.y), std::min(low.z, x.z));
            high = PS::F64vec(std::max(high.x, x.x), std::max(high.y, x.y), std::max(high.z, x.z));
        }
        find_sources(tree, 0, low, high, group);
    }
    return groups;
}

// The orders in which forces are fetched and the next ones begun.
enum Order {
    FDPS_ORDER,     // those of one call are fetched before those of the next are begun
    DISPATCH_FIRST, // as FDPS does not: two calls are under way, with one tag
    TWO_TAGS,       // and with two, the later one fetched first
};

// Computes the forces of all groups as calcForceAllAndWriteBackMultiWalk and, with `by_index`,
// calcForceAllAndWriteBackMultiWalkIndex do it, and adds them to `force`.
template <class DispatchValues, class DispatchIndices, class Retrieve>
void multi_walk(const Tree &tree, const std::vector<Group> &groups, bool by_index, Order order,
                DispatchValues dispatch_values, DispatchIndices dispatch_indices, Retrieve retrieve,
                std::vector<FPGrav> &force) {
    struct Call {
        PS::S32 tag;
        std::vector<PS::S32> n_epi;
        std::vector<FPGrav *> force;
    };
    std::vector<Call> under_way;
    const auto fetch = [&](size_t number) {
        Call call = under_way[number];
        under_way.erase(under_way.begin() + number);
        CHECK(retrieve(call.tag, static_cast<PS::S32>(call.n_epi.size()), call.n_epi.data(), call.force.data()) == 0);
    };
    const PS::S32 n_epj_tot = static_cast<PS::S32>(tree.bodies.size());
    const PS::S32 n_spj_tot = static_cast<PS::S32>(tree.centres.size());
    if (by_index)
        dispatch_indices(0, 0, NULL, NULL, NULL, NULL, NULL, NULL, tree.bodies.data(), n_epj_tot, tree.centres.data(),
                         n_spj_tot, true);
    for (size_t first = 0; first < groups.size(); first += WALK_LIMIT) {
        const size_t end = std::min(groups.size(), first + WALK_LIMIT);
        std::vector<const FPGrav *> epi, epj;
        std::vector<const PS::SPJMonopole *> spj;
        std::vector<const PS::S32 *> id_epj, id_spj;
        std::vector<PS::S32> n_epj, n_spj;
        // FDPS writes the particles of the next walks to the same memory.
        std::vector<std::vector<FPGrav>> bodies;
        std::vector<std::vector<PS::SPJMonopole>> centres;
        Call call;
        call.tag = order == TWO_TAGS ? (first / WALK_LIMIT) % 2 : 0;
        for (size_t g = first; g < end; g++) {
            const Group &group = groups[g];
            call.n_epi.push_back(group.count);
            call.force.push_back(&force[group.first]);
            epi.push_back(&tree.bodies[group.first]);
            id_epj.push_back(group.bodies.data());
            id_spj.push_back(group.cells.data());
            n_epj.push_back(static_cast<PS::S32>(group.bodies.size()));
            n_spj.push_back(static_cast<PS::S32>(group.cells.size()));
            bodies.push_back(std::vector<FPGrav>());
            for (PS::S32 b : group.bodies) bodies.back().push_back(tree.bodies[b]);
            centres.push_back(std::vector<PS::SPJMonopole>());
            for (PS::S32 c : group.cells) centres.back().push_back(tree.centres[c]);
        }
        for (size_t w = 0; w < bodies.size(); w++) {
            epj.push_back(bodies[w].data());
            spj.push_back(centres[w].data());
        }
        if (order == FDPS_ORDER && !under_way.empty()) fetch(0);
        const PS::S32 n_walk = static_cast<PS::S32>(end - first);
        if (by_index)
            dispatch_indices(call.tag, n_walk, epi.data(), call.n_epi.data(), id_epj.data(), n_epj.data(),
                             id_spj.data(), n_spj.data(), tree.bodies.data(), n_epj_tot, tree.centres.data(),
                             n_spj_tot, false);
        else
            CHECK(dispatch_values(call.tag, n_walk, epi.data(), call.n_epi.data(), epj.data(), n_epj.data(),
                                  spj.data(), n_spj.data()) == 0);
        under_way.push_back(call);
        if (order == DISPATCH_FIRST && under_way.size() == 2) fetch(0);
        if (order == TWO_TAGS && under_way.size() == 2) fetch(1), fetch(0);
    }
    while (!under_way.empty()) fetch(0);
}

// Sums as the sample's kernel on CPUs does: every source counts, the body itself too. Returns the
// sum of the absolute values of the terms.
struct Sum {
    PS::F64vec acc;
    double pot, terms;
    Sum() : acc(0.0), pot(0), terms(0) {}
    template <class Particle>
    void add(const PS::F64vec &at, const Particle &source) {
        if (source.getCharge() == 0) return;
        const PS::F64vec r = PS::F64vec(source.getPos()) - at;
        const double s2 = r * r + FPGrav::eps * FPGrav::eps, w = source.getCharge() / (s2 * sqrt(s2));
        acc += r * w;
        pot -= w * s2;
        terms += w * sqrt(r * r);
    }
};

double length(const PS::F64vec &v) {
    return sqrt(v * v);
}

// A Plummer model, cut at a radius of 20, and far away a few bodies without mass, which make cells
// without mass.
std::vector<FPGrav> make_bodies(int n) {
    std::vector<FPGrav> bodies;
    uint64_t state = 1;
    while (static_cast<int>(bodies.size()) < n) {
        FPGrav body = FPGrav();
        body.id = static_cast<PS::S64>(bodies.size());
        body.mass = 1.0 / n;
        const double x = draw(&state) / 2 + 0.5, r = 1 / sqrt(pow(x, -2.0 / 3) - 1);
        const PS::F64vec direction(draw(&state), draw(&state), draw(&state));
        const double d = length(direction);
        if (!(r < 20) || d > 1 || d < 0.01) continue;
        body.pos = direction * (r / d);
        bodies.push_back(body);
    }
    for (int k = 0; k < 40; k++) {
        FPGrav body = FPGrav();
        body.id = static_cast<PS::S64>(bodies.size());
        body.mass = 0;
        body.pos = PS::F64vec(18 + draw(&state) / 10, 18 + draw(&state) / 10, 18 + draw(&state) / 10);
        bodies.push_back(body);
    }
    return bodies;
}

// The error that the precision in use allows, relative to the terms of a sum.
double tolerance() {
    const char *precision = getenv("KYOHO_PRECISION");
    const std::string name = precision ? precision : "double";
    return name == "single" ? 1e-5 : name == "mixed" ? 1e-6 : 1e-13;
}

void forces_are_those_of_the_lists(const Tree &tree, const std::vector<Group> &groups, const std::vector<Sum> &expected,
                                   bool by_index, Order order) {
    // Forces are added to what is there.
    const PS::F64vec before(1.0 / 1024, 1.0 / 512, 0);
    std::vector<FPGrav> force(tree.bodies.size());
    for (FPGrav &f : force) f.acc = before, f.pot = 0.25;
    multi_walk(tree, groups, by_index, order, DispatchKernelWithSP, DispatchKernelWithSPIndex, RetrieveKernel, force);
    double worst_acc = 0, worst_pot = 0;
    for (size_t i = 0; i < force.size(); i++) {
        const Sum &sum = expected[i];
        worst_acc = std::max(worst_acc, length(force[i].acc - before - sum.acc) / sum.terms);
        worst_pot = std::max(worst_pot, fabs(force[i].pot - 0.25 - sum.pot) / fabs(sum.pot));
        CHECK(std::isfinite(force[i].pot));
    }
    CHECK(worst_acc < tolerance());
    CHECK(worst_pot < tolerance());
}

void forces_are_those_of_all_bodies(const Tree &tree, const std::vector<Sum> &by_lists) {
    double squares = 0, worst = 0;
    int count = 0;
    for (size_t i = 0; i < tree.bodies.size(); i += 64, count++) {
        Sum all;
        for (const FPGrav &body : tree.bodies) all.add(tree.bodies[i].pos, body);
        const double error = length(by_lists[i].acc - all.acc) / length(all.acc);
        squares += error * error;
        worst = std::max(worst, error);
    }
    CHECK(sqrt(squares / count) < 3e-3);
    CHECK(worst < 2e-2);
}

// Wrong calls end the program.
void break_it(const std::string &how, Tree tree) {
    if (how == "not a number") tree.bodies[7].pos.y = std::numeric_limits<double>::quiet_NaN();
    const std::vector<Group> groups = make_groups(tree);
    std::vector<FPGrav> force(tree.bodies.size());
    FPGrav *first = force.data();
    PS::S32 one = 1;
    if (how == "not dispatched") RetrieveKernel(0, 1, &one, &first);
    multi_walk(tree, groups, false, FDPS_ORDER, DispatchKernelWithSP, DispatchKernelWithSPIndex, RetrieveKernel, force);
}

} // namespace

int main(int argc, char **argv) {
    std::vector<FPGrav> bodies = make_bodies(BODIES);
    if (argc > 1) {
        break_it(argv[1], make_tree(bodies));
        return 0;
    }
    for (int step = 0; step < 2; step++) {
        const Tree tree = make_tree(bodies);
        const std::vector<Group> groups = make_groups(tree);
        std::vector<Sum> expected(tree.bodies.size());
        for (const Group &group : groups) {
            CHECK(group.count >= 64 && group.count <= 512);
            const size_t sources = group.bodies.size() + group.cells.size();
            CHECK(sources >= 1000 && sources <= 5000);
            for (int i = group.first; i < group.first + group.count; i++) {
                for (PS::S32 b : group.bodies) expected[i].add(tree.bodies[i].pos, tree.bodies[b]);
                for (PS::S32 c : group.cells) expected[i].add(tree.bodies[i].pos, tree.centres[c]);
            }
        }
        forces_are_those_of_all_bodies(tree, expected);
        for (bool by_index : {false, true}) {
            forces_are_those_of_the_lists(tree, groups, expected, by_index, FDPS_ORDER);
            // One system is enough for FDPS.
            CHECK(step > 0 || by_index || force_kyoho::state().idle.size() == 1);
        }
        for (bool by_index : {false, true}) {
            forces_are_those_of_the_lists(tree, groups, expected, by_index, DISPATCH_FIRST);
            forces_are_those_of_the_lists(tree, groups, expected, by_index, TWO_TAGS);
            CHECK(force_kyoho::state().idle.size() == 2);
        }
        // In the next step there are fewer bodies, at other places.
        bodies.resize(BODIES);
        bodies.erase(bodies.begin(), bodies.begin() + 100);
        for (FPGrav &body : bodies) body.pos = body.pos * 1.1;
    }
    return failures != 0;
}

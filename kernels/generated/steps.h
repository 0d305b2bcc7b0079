// Made from crates/kyoho-devices/src/generated.rs, which says what each number is.

#define STEP_THREADS 128
#define WORDS_OF_BLOCK 64
#define SETS 52
#define WATCHED 64
#define ROOT_TURNS 6
#define NOTES 256
#define NOTE_NUMBERS 80
#define NOTE_ROWS 10
#define STRIDE 16
#define CHAIN_RESIDENT 2
#define CHAIN_END_SINKS 16
#define MOST_PLANS 48
#define MOST_GROUPS 4
#define BODIES_OF_BLOCK 32
#define CHAINED_FEW 1
#define CHAINED_MORE 3
#define CHAINED_MANY 6

typedef struct {
    double interval;
    double eta;
    double eta_of_fourth;
    double shortest;
    double longest;
    double largest_position;
    double approach;
    double all_ticks;
    int bodies;
    int sources;
    int is_dense;
    int averages;
    int most_chained;
    int plans;
    int groups;
    int source_groups;
    int chunks;
    int reserved;
} BlockRules;

typedef struct {
    double now;
    long ticks;
    int sinks;
    int set;
    uint sequence;
    int halts;
} BlockState;

typedef struct {
    int sinks;
    int first;
    int stride;
    int results_from;
    int first_part;
    int reserved;
} BlockPiece;

typedef struct {
    int sinks;
    int accumulators;
    int segments;
    int reserved;
} PlannedSums;

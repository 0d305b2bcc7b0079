// Made from crates/kyoho-devices/src/generated.rs, which says what each number is.

#define MOST 16
#define FEW_BODY_THREADS 64
#define HEAD_NUMBERS 6
#define HEAD_WORDS 3
#define IS_UNDER_WAY 0
#define ENDED_BY_TIME 1
#define ENDED_BY_STEPS 2
#define ENDED_WITHOUT_STEP 3
#define ENDED_BY_ESCAPE 4
#define MAY_TOUCH 5

typedef struct {
    double time;
    double tolerance;
    double max_steps;
    double speed_of_light;
    double inverse_of_light;
    double inverse_square_of_light;
    double escape_distance;
    int terms;
    int stops_at_collision;
    int has_contacts;
    int bodies;
    int systems;
    int slots;
    int attempts;
    int reserved;
} FewBodyRules;

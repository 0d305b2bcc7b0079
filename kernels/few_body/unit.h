// Systems of few bodies, each by one thread, in the arithmetic of crates/kyoho-few-body: every sum
// and product in its order, so that a system ends with the same bits wherever it was moved. A unit
// holds systems of up to MOST bodies.

#include "generated/few_body.h"
#include "few_body/vector.h"
#include "few_body/system.h"
#include "few_body/links.h"
#include "few_body/post_newtonian.h"
#include "few_body/motion.h"
#include "few_body/hierarchy.h"
#include "few_body/extrapolation.h"
#include "few_body/touch.h"
#include "few_body/evolve.h"

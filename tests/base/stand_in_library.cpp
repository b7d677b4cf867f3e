// A library that says which it is.
extern "C" int stand_in_number() { return STAND_IN_NUMBER; }

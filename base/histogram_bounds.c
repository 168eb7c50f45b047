/*
 * Bucket bounds. Clients and servers agree on them to the last bit through this table, which is not the correctly
 * rounded power everywhere (it lies up to 4 units in the last place below it), so it cannot be computed: with a
 * computed bound an observation equal to a bound would change its bucket, and answers would show other bounds than
 * Prometheus'.
 */
#include <float.h>
#include <math.h>

#include "base/histogram_parts.h"

/* 2^(i/256 - 1): the fraction bits of the bounds of schema 8. A coarser schema takes every 2nd, 4th, ... of them. */
static const double fractions[256] = {
    /* clang-format off */
    0x1.0000000000000p-1, 0x1.00b1afa5abcbfp-1, 0x1.0163da9fb3335p-1, 0x1.02168143b0281p-1,
    0x1.02c9a3e778061p-1, 0x1.037d42e11bbccp-1, 0x1.04315e86e7f84p-1, 0x1.04e5f72f654b1p-1,
    0x1.059b0d3158574p-1, 0x1.0650a0e3c1f89p-1, 0x1.0706b29ddf6ddp-1, 0x1.07bd42b72a836p-1,
    0x1.0874518759bc8p-1, 0x1.092bdf66607e0p-1, 0x1.09e3ecac6f383p-1, 0x1.0a9c79b1f3919p-1,
    0x1.0b5586cf9890fp-1, 0x1.0c0f145e46c85p-1, 0x1.0cc922b7247f6p-1, 0x1.0d83b23395deap-1,
    0x1.0e3ec32d3d1a2p-1, 0x1.0efa55fdfa9c5p-1, 0x1.0fb66affed31ap-1, 0x1.1073028d7233dp-1,
    0x1.11301d0125b50p-1, 0x1.11edbab5e2ab5p-1, 0x1.12abdc06c31cbp-1, 0x1.136a814f204aap-1,
    0x1.1429aaea92ddfp-1, 0x1.14e95934f312dp-1, 0x1.15a98c8a58e50p-1, 0x1.166a45471c3c1p-1,
    0x1.172b83c7d517bp-1, 0x1.17ed48695bbc0p-1, 0x1.18af9388c8de9p-1, 0x1.1972658375d2fp-1,
    0x1.1a35beb6fcb75p-1, 0x1.1af99f8138a1cp-1, 0x1.1bbe084045cd3p-1, 0x1.1c82f95281c6bp-1,
    0x1.1d4873168b9aap-1, 0x1.1e0e75eb44026p-1, 0x1.1ed5022fcd91cp-1, 0x1.1f9c18438ce4cp-1,
    0x1.2063b88628cd6p-1, 0x1.212be3578a819p-1, 0x1.21f49917ddc95p-1, 0x1.22bdda27912d0p-1,
    0x1.2387a6e756238p-1, 0x1.2451ffb82140ap-1, 0x1.251ce4fb2a63ep-1, 0x1.25e85711ece74p-1,
    0x1.26b4565e27cddp-1, 0x1.2780e341ddf2ap-1, 0x1.284dfe1f56380p-1, 0x1.291ba7591bb6fp-1,
    0x1.29e9df51fdee1p-1, 0x1.2ab8a66d10f13p-1, 0x1.2b87fd0dad98fp-1, 0x1.2c57e39771b2ep-1,
    0x1.2d285a6e4030bp-1, 0x1.2df961f641589p-1, 0x1.2ecafa93e2f55p-1, 0x1.2f9d24abd886ap-1,
    0x1.306fe0a31b715p-1, 0x1.31432edeeb2fdp-1, 0x1.32170fc4cd831p-1, 0x1.32eb83ba8ea32p-1,
    0x1.33c08b26416ffp-1, 0x1.3496266e3fa2dp-1, 0x1.356c55f929ff0p-1, 0x1.36431a2de883ap-1,
    0x1.371a7373aa9cap-1, 0x1.37f26231e7549p-1, 0x1.38cae6d05d864p-1, 0x1.39a401b7140edp-1,
    0x1.3a7db34e59ff6p-1, 0x1.3b57fbfec6cf4p-1, 0x1.3c32dc313a8e3p-1, 0x1.3d0e544ede172p-1,
    0x1.3dea64c123422p-1, 0x1.3ec70df1c5175p-1, 0x1.3fa4504ac801bp-1, 0x1.40822c367a024p-1,
    0x1.4160a21f72e2ap-1, 0x1.423fb2709468ap-1, 0x1.431f5d950a896p-1, 0x1.43ffa3f84b9d4p-1,
    0x1.44e086061892dp-1, 0x1.45c2042a7d232p-1, 0x1.46a41ed1d0057p-1, 0x1.4786d668b3236p-1,
    0x1.486a2b5c13cd0p-1, 0x1.494e1e192aed2p-1, 0x1.4a32af0d7d3dep-1, 0x1.4b17dea6db7d7p-1,
    0x1.4bfdad5362a27p-1, 0x1.4ce41b817c114p-1, 0x1.4dcb299fddd0dp-1, 0x1.4eb2d81d8abfep-1,
    0x1.4f9b2769d2ca7p-1, 0x1.508417f4531efp-1, 0x1.516daa2cf6642p-1, 0x1.5257de83f4eefp-1,
    0x1.5342b569d4f81p-1, 0x1.542e2f4f6ad27p-1, 0x1.551a4ca5d920dp-1, 0x1.56070dde910d0p-1,
    0x1.56f4736b527dap-1, 0x1.57e27dbe2c4cfp-1, 0x1.58d12d497c7fcp-1, 0x1.59c0827ff07cbp-1,
    0x1.5ab07dd485429p-1, 0x1.5ba11fba87a02p-1, 0x1.5c9268a5946b6p-1, 0x1.5d84590998b92p-1,
    0x1.5e76f15ad2148p-1, 0x1.5f6a320dceb71p-1, 0x1.605e1b976dc08p-1, 0x1.6152ae6cdf6f4p-1,
    0x1.6247eb03a5584p-1, 0x1.633dd1d1929fdp-1, 0x1.6434634ccc31ep-1, 0x1.652b9febc8fb5p-1,
    0x1.6623882552224p-1, 0x1.671c1c70833f5p-1, 0x1.68155d44ca972p-1, 0x1.690f4b19e9537p-1,
    0x1.6a09e667f3bccp-1, 0x1.6b052fa75173ep-1, 0x1.6c012750bdabep-1, 0x1.6cfdcddd47645p-1,
    0x1.6dfb23c651a2ep-1, 0x1.6ef9298593ae4p-1, 0x1.6ff7df9519482p-1, 0x1.70f7466f42e85p-1,
    0x1.71f75e8ec5f73p-1, 0x1.72f8286ead089p-1, 0x1.73f9a48a58172p-1, 0x1.74fbd35d7cbfcp-1,
    0x1.75feb564267c8p-1, 0x1.77024b1ab6e09p-1, 0x1.780694fde5d3ep-1, 0x1.790b938ac1cf5p-1,
    0x1.7a11473eb0186p-1, 0x1.7b17b0976cfdap-1, 0x1.7c1ed0130c131p-1, 0x1.7d26a62ff86efp-1,
    0x1.7e2f336cf4e61p-1, 0x1.7f3878491c490p-1, 0x1.80427543e1a10p-1, 0x1.814d2add106d8p-1,
    0x1.82589994cce11p-1, 0x1.8364c1eb941f6p-1, 0x1.8471a4623c7abp-1, 0x1.857f4179f5b1fp-1,
    0x1.868d99b4492ebp-1, 0x1.879cad931a435p-1, 0x1.88ac7d98a6697p-1, 0x1.89bd0a478580dp-1,
    0x1.8ace5422aa0dbp-1, 0x1.8be05bad61778p-1, 0x1.8cf3216b5448bp-1, 0x1.8e06a5e0866d8p-1,
    0x1.8f1ae99157736p-1, 0x1.902fed0282c8ap-1, 0x1.9145b0b91ffc5p-1, 0x1.925c353aa2fe2p-1,
    0x1.93737b0cdc5e4p-1, 0x1.948b82b5f98e4p-1, 0x1.95a44cbc8520dp-1, 0x1.96bdd9a7670b1p-1,
    0x1.97d829fde4e4fp-1, 0x1.98f33e47a22a2p-1, 0x1.9a0f170ca07b8p-1, 0x1.9b2bb4d53fe0bp-1,
    0x1.9c49182a3f08fp-1, 0x1.9d674194bb8d4p-1, 0x1.9e86319e32321p-1, 0x1.9fa5e8d07f29cp-1,
    0x1.a0c667b5de564p-1, 0x1.a1e7aed8eb8bbp-1, 0x1.a309bec4a2d32p-1, 0x1.a42c980460ad7p-1,
    0x1.a5503b23e255bp-1, 0x1.a674a8af46051p-1, 0x1.a799e1330b356p-1, 0x1.a8bfe53c12e57p-1,
    0x1.a9e6b5579fdbep-1, 0x1.ab0e521356eb9p-1, 0x1.ac36bbfd3f378p-1, 0x1.ad5ff3a3c2773p-1,
    0x1.ae89f995ad3acp-1, 0x1.afb4ce622f2fep-1, 0x1.b0e07298db663p-1, 0x1.b20ce6c9a8950p-1,
    0x1.b33a2b84f15fap-1, 0x1.b468415b749b0p-1, 0x1.b59728de55938p-1, 0x1.b6c6e29f1c529p-1,
    0x1.b7f76f2fb5e45p-1, 0x1.b928cf22749e2p-1, 0x1.ba5b030a10647p-1, 0x1.bb8e0b79a6f1dp-1,
    0x1.bcc1e904bc1d0p-1, 0x1.bdf69c3f3a205p-1, 0x1.bf2c25bd71e06p-1, 0x1.c06286141b33bp-1,
    0x1.c199bdd85529ap-1, 0x1.c2d1cd9fa652ap-1, 0x1.c40ab5fffd078p-1, 0x1.c544778fafb20p-1,
    0x1.c67f12e57d149p-1, 0x1.c7ba88988c931p-1, 0x1.c8f6d9406e7b2p-1, 0x1.ca3405751c4d8p-1,
    0x1.cb720dcef9066p-1, 0x1.ccb0f2e6d1672p-1, 0x1.cdf0b555dc3f6p-1, 0x1.cf3155b5bab70p-1,
    0x1.d072d4a078979p-1, 0x1.d1b532b08c966p-1, 0x1.d2f87080d89eep-1, 0x1.d43c8eacaa1d3p-1,
    0x1.d5818dcfba486p-1, 0x1.d6c76e862e6d2p-1, 0x1.d80e316c98396p-1, 0x1.d955d71ff6074p-1,
    0x1.da9e603db3284p-1, 0x1.dbe7cd63a8313p-1, 0x1.dd321f301b45ep-1, 0x1.de7d5641c0656p-1,
    0x1.dfc97337b9b5dp-1, 0x1.e11676b197d16p-1, 0x1.e264614f5a126p-1, 0x1.e3b333b16ee0fp-1,
    0x1.e502ee78b3ff5p-1, 0x1.e653924676d75p-1, 0x1.e7a51fbc74c81p-1, 0x1.e8f7977cdb73ep-1,
    0x1.ea4afa2a490d8p-1, 0x1.eb9f4867cca6dp-1, 0x1.ecf482d8e67eep-1, 0x1.ee4aaa218850ep-1,
    0x1.efa1bee615a26p-1, 0x1.f0f9c1cb64129p-1, 0x1.f252b376bba95p-1, 0x1.f3ac948dd7272p-1,
    0x1.f50765b6e453ep-1, 0x1.f6632798844f6p-1, 0x1.f7bfdad9cbe10p-1, 0x1.f91d802243c86p-1,
    0x1.fa7c1819e90d6p-1, 0x1.fbdba3692d512p-1, 0x1.fd3c22b8f71eep-1, 0x1.fe9d96b2a23d6p-1,
    /* clang-format on */
};

/* Bounds outside any double's range come out as 0 and +Inf, without a shift or an exponent ever overflowing. */
double histogram_bound_exponential(int32_t index, int32_t schema)
{
    int64_t exponent;
    double fraction = 0.5;
    if (schema <= 0) {
        exponent = (int64_t)index * (INT64_C(1) << -schema) + 1;
    } else {
        uint32_t step = (uint32_t)index & ((1u << schema) - 1);
        fraction = fractions[step << (HISTOGRAM_SCHEMA_MAX - schema)];
        exponent = (index >> schema) + 1;
    }
    /* The bound after the largest double would be 2^1024: finite observations end at the largest double, and the bucket
     * after that one holds the infinite ones. */
    if (fraction == 0.5 && exponent == DBL_MAX_EXP + 1)
        return DBL_MAX;
    if (exponent > 2000)
        return INFINITY;
    return exponent < -2000 ? 0 : ldexp(fraction, (int)exponent);
}

double histogram_bound(const struct histogram *h, int32_t index)
{
    if (!histogram_is_custom(h))
        return histogram_bound_exponential(index, h->schema);
    if (index < 0)
        return -INFINITY;
    return (uint32_t)index < h->custom_n ? h->custom[index] : INFINITY;
}

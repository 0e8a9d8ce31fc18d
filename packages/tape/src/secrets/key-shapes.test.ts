import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasKeyShape, KEY_PREFIXES, keyShapes, maskKeys } from './key-shapes.js'
import { redactText } from './redact-text.js'

/** Made up at run time, so that no scanner finds a key in this file. */
const letters = (count: number): string => 'aB3dE6gH9'.repeat(20).slice(0, count)
const upper = (count: number): string => 'AB3DE6GH9'.repeat(20).slice(0, count)
const claims = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const pem = (lineBreak: string): string =>
  [
    '-----BEGIN RSA PRIVATE',
    ' KEY-----',
    lineBreak,
    letters(64),
    lineBreak,
    letters(30),
    '==',
    lineBreak,
    '-----END RSA PRIVATE',
    ' KEY-----',
  ].join('')

const characters: Readonly<Record<string, string>> = {
  L: 'aB3dE6gH9',
  A: 'AB3DE6GH9',
  H: 'a3b4c5d6e7f80912',
  B: 'AB3DE6GH2',
  l: 'ab3de6gh9',
}
/** `{L20}`: 20 letters and digits; `{H32}`: hexadecimal; `{U}`: a UUID. */
const sampleOf = (form: string): string =>
  form
    .replaceAll('{U}', '{H8}-{H4}-{H4}-{H4}-{H12}')
    .replaceAll(/\{([LAHBl])(\d+)\}/g, (_, kind: string, count: string) =>
      (characters[kind] ?? '').repeat(99).slice(0, Number(count)),
    )

const KEYS: readonly (readonly [string, string])[] = [
  ['OpenAI', `sk-${letters(48)}`],
  ['OpenAI project', `sk-proj-${letters(20)}_${letters(20)}-${letters(20)}`],
  ['Anthropic', `sk-ant-api03-${letters(60)}`],
  ['Stripe', `sk_live_${letters(24)}`],
  ['GitHub', `ghp_${letters(36)}`],
  ['GitHub fine-grained', `github_pat_${letters(22)}_${letters(40)}`],
  ['GitLab', `glpat-${letters(20)}`],
  ['Slack', ['xoxb', '12345678901', letters(24)].join('-')],
  ['AWS', `AKIA${upper(16)}`],
  ['Google', `AIza${letters(35)}`],
  ['Google access token', `ya29.${letters(60)}`],
  ['Hugging Face', `hf_${letters(34)}`],
  ...`
    Cerebras csk-{L48} | xAI xai-{L80} | Groq gsk_{L52} | Replicate r8_{L37} | Perplexity pplx-{L48}
    NVIDIA nvapi-{L64} | Tavily tvly-{L32} | Jina jina_{L60} | E2B e2b_{H40} | Firecrawl fc-{H32}
    Pinecone pcsk_{L60} | LangSmith lsv2_pt_{H32}_{H10} | LangSmith-service lsv2_sk_{H32}_{H10}
    Browserbase bb_live_{L27} | Browserbase-test bb_test_{L27} | HuggingFace-org api_org_{L34}
    Bedrock ABSK{L120} | Bedrock-short bedrock-api-key-{L60}
    Stripe-test sk_test_{L24} | Stripe-prod sk_prod_{L24} | Stripe-restricted rk_live_{L24}
    Stripe-rk-test rk_test_{L24} | Stripe-rk-prod rk_prod_{L24} | ElevenLabs sk_{H48}
    Razorpay rzp_live_{L14} | Razorpay-test rzp_test_{L14} | Shippo shippo_live_{H40} | Shippo-test shippo_test_{H40}
    Duffel duffel_live_{L43} | Duffel-test duffel_test_{L43} | Flutterwave FLWSECK-{L32} | Flutterwave-test FLWSECK_TEST-{L32}
    Square sq0atp-{L22} | Square-secret sq0csp-{L43} | Square-id sq0idp-{L22} | Square-token EAAA{L60}
    EasyPost EZAK{L54} | EasyPost-test EZTK{L54} | webhook whsec_{L32}
    Plaid access-production-{U} | Plaid-sandbox access-sandbox-{U} | Plaid-development access-development-{U}
    Braintree access_token$production$\{l16}$\{H32} | Braintree-sandbox access_token$sandbox$\{l16}$\{H32}
    GitHub-oauth gho_{L36} | GitHub-server ghs_{L36} | GitHub-user ghu_{L36} | GitHub-refresh ghr_{L76}
    GitLab-trigger glptt-{H40} | GitLab-deploy gldt-{L20} | GitLab-runner glrt-{L20} | GitLab-runner2 glrtr-{L20}
    GitLab-scim glsoat-{L20} | GitLab-feed glft-{L20} | GitLab-mail glimt-{L25} | GitLab-agent glagent-{L50}
    GitLab-app gloas-{L64} | GitLab-job glcbt-{L24} | GitLab-flags glffct-{L20} | GitLab-old GR1348941{L20}
    Atlassian ATATT3{L186} | Atlassian-container ATCTT3{L186} | Bitbucket ATBB{L32} | Sourcegraph sgp_{H40}
    npm npm_{L36} | PyPI pypi-{L90} | Docker dckr_pat_{L27} | Docker-org dckr_oat_{L32} | RubyGems rubygems_{H48}
    Clojars CLOJARS_{H60} | NuGet oy2{l43} | crates.io cio{L32} | Artifactory AKCp{L69} | Artifactory-ref cmVmd{L59}
    AWS-session ASIA{A16} | AWS-bearer ABIA{A16} | AWS-context ACCA{A16} | Google-oauth GOCSPX-{L28} | Google-refresh 1//0{L60}
    Alibaba LTAI{L20} | Tencent AKID{L32} | DigitalOcean dop_v1_{H64} | DigitalOcean-oauth doo_v1_{H64} | DigitalOcean-refresh dor_v1_{H64}
    Databricks dapi{H32} | Databricks-oauth dose{H32} | Heroku HRKU-AA{L58}
    Fly fo1_{L43} | Fly2 fm2_{L120} | Fly1r fm1r_{L120} | Fly1a fm1a_{L120} | Yandex t1.{L60}.{L86} | Yandex-key AQVN{L36}
    Supabase sbp_{H40} | Supabase-secret sb_secret_{L31} | Vercel-blob vercel_blob_rw_{L40} | Sentry-user sntryu_{H64} | Sentry-org sntrys_{L120}
    Prefect pnu_{L36} | ReadMe rdme_{H70} | PlanetScale pscale_tkn_{L43} | PlanetScale-password pscale_pw_{L43} | PlanetScale-oauth pscale_oauth_{L43}
    Pulumi pul-{H40} | Doppler dp.pt.{L43} | Doppler-service dp.st.dev.{L43} | Doppler-cli dp.ct.{L43} | Doppler-account dp.sa.{L43}
    Doppler-scim dp.scim.{L43} | Doppler-audit dp.audit.{L43} | 1Password ops_eyJ{L250} | 1Password-secret A3-{A6}-{A6}-{A5}-{A5}-{A5}-{A5}
    Vault hvs.{L95} | Vault-batch hvb.{L140} | Vault-recovery hvr.{L95} | Terraform {L14}.atlasv1.{L67}
    Dynatrace dt0c01.{A24}.{A64} | Dynatrace-sso dt0s01.{A24}.{A64} | Cloudflare-CA v1.0-{H24}-{H146} | OpenShift sha256~{L43}
    Slack-app xapp-1-{A11}-12345678901-{H64} | Slack-user xoxp-12345678901-{L24} | Slack-refresh xoxe-1-{L146} | Slack-a xoxa-2-{L40}
    Slack-o xoxo-12345678901-{L24} | Slack-r xoxr-12345678901-{L24} | Slack-s xoxs-12345678901-{L24} | Slack-browser xoxc-12345678901-{L64} | Slack-cookie xoxd-{L80}
    Telegram 123456789:AA{L33} | Discord M{B25}.{L6}.{L38} | SendGrid SG.{L22}.{L43} | Twilio SK{H32} | Mailgun key-{H32}
    Brevo xkeysib-{H64}-{L16} | Brevo-mail xsmtpsib-{H64}-{L16} | Resend re_{L8}_{L24} | Mailchimp {H32}-us12 | MaxMind {L6}_{L29}_mmk
    Airtable pat{L14}.{H64} | Contentful CFPAT-{L43} | CircleCI CCIPAT_{L22}_{H40} | CircleCI-project CCIPRJ_{L22}_{H40} | Buildkite bkua_{H40}
    Figma figd_{L40} | Figma-oauth figo_{L40} | Figma-user figu_{L40} | Frame.io fio-u-{L64} | Dropbox sl.{L130}
    Grafana glc_{L64} | Grafana-service glsa_{L32}_{H8} | Grafana-old eyJrIjoi{L90} | Harness pat.{L22}.{L24}.{L20} | Harness-service sat.{L22}.{L24}.{L20}
    Linear lin_api_{L40} | Linear-oauth lin_oauth_{L40} | LaunchDarkly sdk-{U} | LaunchDarkly-api api-{U}
    NewRelic NRAK-{A27} | NewRelic-insert NRII-{L32} | NewRelic-admin NRRA-{L42} | NewRelic-sp NRSP-{L42} | NewRelic-query NRIQ-{L32}
    Notion ntn_{L46} | Notion-old secret_{L43} | Octopus API-{A26} | PostHog phx_{L43} | PostHog-shared phs_{L43} | Postman PMAK-{H24}-{H34}
    Shopify shpat_{H32} | Shopify-custom shpca_{H32} | Shopify-private shppa_{H32} | Shopify-shared shpss_{H32} | Shopify-theme shptka_{H32}
    Adobe p8e-{L32} | Infracost ico-{L32} | SettleMint sm_aat_{L16} | SettleMint-personal sm_pat_{L16} | SettleMint-service sm_sat_{L16}
    Scalingo tk-us-{L48} | Intra42 s-s4t2ud-{H64} | Intra42-app s-s4t2af-{H64} | Inngest signkey-prod-{H64} | Inngest-test signkey-test-{H64}
    Slack-hook https://hooks.example.com/services/T{A9}/B{A9}/{L24} | Slack-workflow https://hooks.example.com/triggers/T{A9}/1234567890123/{H32}
    Discord-hook https://chat.example.com/api/webhooks/123456789012345678/{L68}
    Teams-hook https://x.example.com/webhookb2/{B8}/IncomingWebhook/{H32}
    Azure-client {L3}8Q~{L34} | Azure-storage AccountKey={L86}== | Azure-bus SharedAccessKey={L43}= | Azure-sas https://x.example.com/c?sv=2024&sig={L43}%3D
    HubSpot pat-na1-{U} | HubSpot-eu pat-eu1-{U} | Netlify nfp_{L40} | Sonar squ_{H40} | Sonar-project sqp_{H40} | Sonar-analysis sqa_{H40}
    Typeform tfp_{L44} | Mapbox sk.eyJ{B40}.{L22} | Salesforce 00D{B15}!{L96} | Zapier https://hooks.example.com/hooks/catch/1234567/{l16}/
    two-factor otpauth://totp/Shop:ann?issuer=Shop&secret={B32} | age AGE-SECRET-KEY-1{A58}
  `
    .split(/\||\n/)
    .map((row) => row.trim().split(' '))
    .filter(([name]) => name !== '')
    .map(([name = '', form = '']) => [name, sampleOf(form)] as const),
  ['URL with a password', `postgres://app:${letters(12)}@db.example:5432/main`],
  ['JWT', `${claims({ alg: 'HS256' })}.${claims({ sub: 'someone' })}.${letters(43)}`],
  ['private key', pem('\n')],
  ['private key in JSON', pem(String.raw`\n`)],
]

test.each(KEYS)('a key of %s is hidden, at the same length, at any position', (_, key) => {
  for (const text of [key, `the key is ${key}.`, `{"key":"${key}","n":1}`, `KEY=${key}\nA=1`]) {
    const masked = maskKeys(text)
    expect(masked).not.toContain(key)
    expect(masked.length).toBe(text.length)
    expect(maskKeys(masked)).toBe(masked)
    // Hosts, and the last line of a key file, stay.
    expect(masked.includes(key.slice(-14, -4))).toBe(/^postgres|^-----/.test(key))
    expect(redactText(text)).not.toContain(key)
    expect(redactText(text).length).toBe(text.length)
    expect(hasKeyShape(text)).toBe(true)
  }
})

test('the claims of a JWT can still be read, its signature cannot', () => {
  const head = `${claims({ alg: 'HS256' })}.${claims({ sub: 'someone', exp: 1 })}.`
  const signature = letters(43)
  const masked = maskKeys(`Bearer ${head}${signature}`)
  expect(masked).toContain(head)
  expect(masked).not.toContain(signature.slice(0, 12))
})

test('a private key inside JSON leaves JSON', () => {
  const json = JSON.stringify({ private_key: pem('\n'), id: 'a' })
  expect(JSON.parse(maskKeys(json))).toMatchObject({ id: 'a' })
  expect(JSON.parse(maskKeys(json)).private_key).toContain('\nxxx')
})

test.each([
  ['a digest', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ['a git hash', '0123456789abcdef0123456789abcdef01234567'],
  ['a UUID', '3f2504e0-4f89-41d3-9a0c-0305e82c3301'],
  ['a message id', 'chatcmpl-Abc123def456ghi789jkl012mno345'],
  ['a tool call id', 'toolu_01A09q90qw90lq917835lq9'],
  ['a response id', 'resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b'],
  ['a class name', 'sk-loading-spinner-container-large-2'],
  ['words', 'risk-adjusted task-2024-11-16-report-of-the-week disk-usage'],
  ['an npm variable', 'npm_config_user_agent npm_package_dependencies_something_long'],
  ['a certificate', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----'],
  ['an address', 'http://localhost:3000/users/@me?at=12:30@home'],
  ['an image', `data:image/png;base64,${Buffer.from(letters(3000)).toString('base64')}`],
])('%s is left alone', (_, text) => {
  expect(maskKeys(text)).toBe(text)
})

test('masking keeps lengths and is idempotent, for any text around a key', () => {
  fc.assert(
    fc.property(fc.string(), fc.constantFrom(...KEYS), fc.string(), (before, [, key], after) => {
      const text = before + key + after
      const masked = maskKeys(text)
      expect(masked.length).toBe(text.length)
      expect(maskKeys(masked)).toBe(masked)
    }),
  )
})

test('the fast search finds what one expression for all shapes finds', () => {
  const pieces = KEYS.flatMap(([, key]) => [key, key.slice(0, -1), key.slice(3), key.slice(0, 12)])
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string())), (texts) => {
      const text = texts.join('')
      const masked = maskKeys(text)
      for (const { 0: found, index } of text.matchAll(keyShapes()))
        expect(masked.slice(index, index + found.length)).not.toBe(found)
      expect(masked !== text && !hasKeyShape(text)).toBe(false)
    }),
  )
})

test('each prefix has a sample above', () => {
  const samples = KEYS.map(([, key]) => key)
  expect(KEY_PREFIXES.filter((prefix) => !samples.some((key) => key.includes(prefix)))).toEqual([])
})

const withPrefix = KEYS.flatMap(([name, key]) => {
  const prefix = KEY_PREFIXES.filter((each) => key.startsWith(each))
  return prefix.length === 0 ? [] : [[name, key] as const]
})

test.each(withPrefix)('a key of %s is hidden in base64 and hex', (_, key) => {
  const end = key.slice(-12)
  for (const before of ['', ' ', '  ']) {
    const base64 = Buffer.from(`${before}${key}`).toString('base64')
    expect(Buffer.from(redactText(base64), 'base64').toString()).not.toContain(end)
    const hex = Buffer.from(`${before}${key}`).toString('hex')
    expect(Buffer.from(redactText(hex), 'hex').toString()).not.toContain(end)
  }
})

export { type ChatEndpoint, type ChatMessage, type JudgeOptions, requestChat } from './judge.js'
export { ORACLE_OPTIONS, givenOracle, makeOracle, oracleText } from './make-oracle.js'
export {
  type Judgement,
  type Oracle,
  type OracleAnswer,
  type OracleFunction,
  type RunOutcome,
  type Verdict,
  judged,
  readOutcome,
  undecided,
} from './oracle.js'
export { suggestOracle } from './suggest-oracle.js'

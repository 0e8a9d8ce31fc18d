export {
  type Located,
  type MatchExcerpt,
  type NearMiss,
  type Occurrence,
  type SourceKind,
  locate,
} from './locate.js'

/** Words by which Japanese customers are understood. Lower case; they are looked for in one clause. */
import { anywhere, type Cues } from './cues.ts'

export const JAPANESE: Cues = {
  bug_report: anywhere(
    '落ちます|落ちる|固まり|固まる|エラー|動きません|動かない|表示されません|表示されない|できません(?!か)|開けません|ログインできない|クラッシュ|不具合|バグ',
  ),
  feature_request: anywhere(
    'してほしい|て欲しい|追加してください|追加して|があると(?:嬉|うれ|便利)|機能がほしい|できるように(?:して|なる)|要望',
  ),
  question: anywhere('(?:ですか|ますか|でしょうか|教えてください|教えて下さい)'),
  complaint: anywhere('ひどい|最悪|がっかり|高すぎ|遅すぎ|返信がありません|不満|残念です|許せ|🤬|😡|😠|👎'),
  praise: anywhere(
    '最高|とても便利|使いやす|気に入って|満足して|素晴らしい|大好き|助かって|助かりました|👍|❤|😍|🎉|💯|🥰|😊|⭐⭐',
  ),
  confusion: anywhere(
    '意味が(?:わか|分か)ら|(?:わか|分か)りにくい|よく(?:わか|分か)り?ら?ま?せん|どういう意味|理解できません|混乱',
  ),
  human_requested: anywhere(
    '担当者(?:と|に)|オペレーター|人間と|人と話|電話(?:で話|をください|してください)',
  ),
  churn_risk: anywhere('解約|退会|他社に乗り換|乗り換え'),
  wrong_answer: anywhere('間違って|違います|正しくありません|ありませんでした|存在しません|嘘'),
  repeated_problem: anywhere('また同じ|まだ(?:直|でき|動)|何度も|再起動しても|二回目|三回目|相変わらず'),
  resolved_confirmation: anywhere(
    '解決しました|直りました|できました|うまくいきました|治りました|動きました',
  ),
}

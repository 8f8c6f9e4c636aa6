/** Words by which Portuguese customers are understood. Lower case; they are looked for in one clause. */
import { type Cues, words } from './cues.ts'

export const PORTUGUESE: Cues = {
  bug_report: words(
    'trava(?:ndo|do)?|fecha sozinho',
    'não (?:funciona|carrega|abre|responde|consigo (?:fazer login|entrar|abrir|acessar|enviar|baixar))',
    '(?:um|aparece) erro|continua não funcionando',
  ),
  feature_request: words(
    'seria (?:genial|útil|ideal|bom|ótimo|legal)|falta (?:uma|um) (?:opção|função|modo)',
    'por favor,? adicionem|gostaria de (?:poder|ter)',
  ),
  complaint: words(
    'absurdo|péssim[oa]|inaceitável|decepcionad[oa]|(?:muito|caro) (?:caro|demais|lento)',
    'ninguém responde|demora demais|horrível|vergonha',
  ),
  praise: words(
    'adorei|amo|amei|excelente|ótimo (?:app|aplicativo|serviço|atendimento)',
    'muito (?:fácil|bom|boa|prático|satisfeit[oa]|útil|feliz)|maravilhos[oa]|perfeito|recomendo',
  ),
  confusion: words('confus[oa]|não (?:entendi|entendo)|não (?:ficou|está) claro|o que (?:isso )?significa'),
  human_requested: words(String.raw`falar com (?:um |uma |alguém)\w*|me transfira|atendente humano`),
  churn_risk: words(
    'cancelar (?:minha|nossa|a) (?:conta|assinatura)|mudar de (?:fornecedor|empresa)',
    'excluam minha conta',
  ),
  wrong_answer: words(
    'está (?:mal|errado|errada|incorreto)|não é (?:verdade|correto)|não existe|isso está errado',
  ),
  repeated_problem: words(
    'ainda não|continua (?:não|com|o)|de novo (?:o )?mesmo|mesmo (?:erro|problema)',
    'já (?:falei|disse|reportei)',
  ),
  resolved_confirmation: words(
    'solucionado|deu certo|agora (?:funcionou|funciona|foi)|funcionou|resolvido|consegui',
  ),
}
